package words

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"INGEST_TOKEN=hunter2":           "INGEST_TOKEN=…",
		"--env=MQTT_PASSWORD=hunter2":    "--env=MQTT_PASSWORD=…",
		"-eAPI_KEY=hunter2":              "-eAPI_KEY=…",
		"-e=API_KEY=hunter2":             "-e=API_KEY=…", // regression, as the next one: shown
		"-eCREDENTIALS={\n\"key\": 7\n}": "-eCREDENTIALS=…",
		"MQTT_URL=mqtt://u:hunter2@h":    "MQTT_URL=…",
		"influxdb=http://u:hunter2@h/db": "influxdb=http://…@h/db",
		"ID_KEY=meta.id":                 "ID_KEY=meta.id",
		// Regression, as the next ones: a path and a body were shown.
		"INGEST_PATH=/m?api_key=hunter2":     "INGEST_PATH=/m?api_key=…",
		"--env=INGEST_PATH=/m?a=1&hunter2&b": "--env=INGEST_PATH=/m?a=…&…&…",
		"-eINGEST_PATH=/m?k=hunter2==":       "-eINGEST_PATH=/m?k=…",
		"-e=BODY={\"key\":\"hunter2\"}\n":    "-e=BODY=…",
		"BODY_FILE=/a/body.json":             "BODY_FILE=/a/body.json",
		"influxdb=http://h/db?p=hunter2":     "influxdb=http://h/db?p=…",
		"NOTE=why?":                          "NOTE=why?",
		"RATE=3000":                          "RATE=3000",
		"htp://bob:hunter2@h:1":              "htp://…@h:1",
		"scenarios/ramp.js":                  "scenarios/ramp.js",
	} {
		assert.Equal(t, want, Mask(word))
	}
}

// An error shows where a message was expected: a masked query hid the target, and with it a wrong one.
func TestAnAddressIsShownWithoutItsSecrets(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"ws://h/s?room=5&to=canary/x":                      "ws://h/s?room=5&to=canary/x",
		"ws://u:hunter2@h/s?to=canary/x&token=hunter2":     "ws://…@h/s?to=canary/x&token=…",
		"http://h/s?hunter2&apiKey=a&to=canary/x&session=": "http://h/s?…&apiKey=…&to=canary/x&session=…",
		"http://h/s?x=eyJhbGciOiJIUzI1NiJ9.e30.c2ln":       "http://h/s?x=…",
		"http://h/canary/x":                                "http://h/canary/x",
	} {
		assert.Equal(t, want, MaskAddress(address, "canary/x"))
	}
}

func TestWordsOfACommandAreQuoted(t *testing.T) {
	t.Parallel()
	words := []string{"X=a b", "NOTE=it's", "", "X=$(reboot)", "RATE=3000", "API_KEY=a b", "./a-b/c.js"}
	assert.Equal(t, `./k6 'X=a b' 'NOTE=it'\''s' '' 'X=$(reboot)' RATE=3000 API_KEY=… ./a-b/c.js`, Command(words))
}

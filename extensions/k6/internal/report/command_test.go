package report

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
		"RATE=3000":                      "RATE=3000",
		"htp://bob:hunter2@h:1":          "htp://…@h:1",
		"scenarios/ramp.js":              "scenarios/ramp.js",
	} {
		assert.Equal(t, want, Mask(word))
	}
}

func TestWordsOfACommandAreQuoted(t *testing.T) {
	t.Parallel()
	words := []string{"X=a b", "NOTE=it's", "", "X=$(reboot)", "RATE=3000", "API_KEY=a b", "./a-b/c.js"}
	assert.Equal(t, `./k6 'X=a b' 'NOTE=it'\''s' '' 'X=$(reboot)' RATE=3000 API_KEY=… ./a-b/c.js`, Command(words))
}

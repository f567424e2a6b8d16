package engine

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Regression: encoding/json took {"senders": 1}} and {"Senders": 1}, and of two equal keys the last.
func TestOptionsAreOneJSONObjectWithKnownKeys(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"senders": 1}}`:                               "byte 15",
		`{"senders": 1} {}`:                             "byte 16",
		`{"senders": 1}, 1`:                             "byte 15",
		`{"senders": 1`:                                 "not one JSON value",
		`{"senders": 1,}`:                               "not one JSON value",
		`{"senders": 01}`:                               "not one JSON value",
		`{senders: 1}`:                                  "not one JSON value",
		``:                                              "not one JSON value",
		`{"Senders": 1}`:                                `unknown option "Senders"`,
		`{"SENDERS": 1}`:                                `unknown option "SENDERS"`,
		`{"clocK": {}}`:                                 `unknown option "cloc`,
		`{"clock": {"Limit": 1}}`:                       `unknown option "clock.Limit"`,
		`{"ingest": {"batchpath": "/x"}}`:               `unknown option "ingest.batchpath"`,
		`{"profile": {"Text": "x"}}`:                    `profile: unknown option "Text"`,
		`{"profile": {"name": "x", "tekst": 1}}`:        `profile: unknown option "tekst"`,
		`{"limits": {}, "Tool": {}}`:                    `unknown option "Tool", tool is known`,
		`{"sendrs": 1}`:                                 `unknown option "sendrs", senders is known`,
		`{"webhook": {"adress": ":9"}}`:                 `unknown option "webhook.adress", address is known; allowed: `,
		`{"mqtt": {"ulr": "x"}}`:                        `unknown option "mqtt.ulr"; allowed: url, `,
		`{"websocket": {"snd": ["x"]}}`:                 `unknown option "websocket.snd", send is known; allowed: url, `,
		`{"sse": {"headrs": {}}}`:                       `unknown option "sse.headrs", headers is known; allowed: url, `,
		`{"senders": 1, "senders": 2}`:                  `option "senders" is set twice`,
		`{"ingest": {"headers": {"A": "1", "A": "2"}}}`: `option "ingest.headers.A" is set twice`,
		`{"senders": 1.5}`:                              "senders is 1.5, but must be a whole number",
		`{"senders": 1e99}`:                             "senders is 1e99, but must be a whole number",
		`{"senders": true}`:                             "senders is true, but must be a whole number",
		`{"canary": 1}`:                                 "canary is a number, but must be true or false",
		`{"ingest": []}`:                                "ingest is a list, but must be an object",
		`{"ingest": {"headers": {"A": 1}}}`:             "ingest.headers.A is a number, but must be a text",
		`{"mqtt": {"more": "x"}}`:                       "mqtt.more is a text, but must be a list",
		`{"fuzz": {"seed": -1}}`:                        "fuzz.seed is -1, but must be a whole number from 0 on",
		`[]`:                                            "it is a list, but must be an object",
		`"x"`:                                           "it is a text, but must be an object",
		`{"timeout": "NaN"}`:                            `timeout is "NaN", which is not a duration`,
		`{"timeout": "Infinity"}`:                       `timeout is "Infinity", which is not a duration`,
		`{"timeout": 1e300}`:                            `timeout is 1e300, which is not a duration`,
		`{"clock": {"limit": []}}`:                      `clock.limit is [], which is not a duration`,
		`{"verify": 0}`:                                 "verify (VERIFY) is 0; allowed",
		`{"profile": 5}`:                                "profile: it is a number, but must be an object",
	} {
		o := externalOptions{Options: defaults()}
		err := Decode([]byte(text), &o)
		require.ErrorContains(t, err, want, text)
		assert.NotContains(t, err.Error(), "\n", text)
	}
}

func TestOptionsThatAreNullKeepTheirDefaults(t *testing.T) {
	t.Parallel()
	o := externalOptions{Options: defaults()}
	text := ` {"senders": null, "ingest": {"path": null, "token": "x"}, "mqtt": null, "fuzz": null, "greet": null,
		"labels": null, "facts": {"a": null, "b": [1]}, "phases": {"x": {"duration": 3}}, "body": "cut \ud83d off"}
	`
	require.NoError(t, Decode([]byte(text), &o))
	want := externalOptions{Options: defaults()}
	want.Ingest.Token = "x"
	want.Facts = map[string]any{"a": nil, "b": []any{1.0}}
	want.Phases = map[string]map[string]any{"x": {"duration": 3.0}}
	want.Body = "cut \ufffd off"
	assert.Equal(t, want, o)
}

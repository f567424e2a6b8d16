package mqtt

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseAddress(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"mqtt://h":              "h:1883 false false",
		"tcp://h:9":             "h:9 false false",
		"mqtts://u:p@h":         "h:8883 true false u p",
		"mqtt://[::1]:11883":    "[::1]:11883 false false",
		"ws://h":                "h:80 false true ws://h:80/mqtt",
		"wss://u:p@h/":          "h:443 true true u p wss://h:443/",
		"wss://h:9/path?jwt=ey": "h:9 true true wss://h:9/path?jwt=ey",
		"ws://h?jwt=ey":         "h:80 false true ws://h:80/mqtt?jwt=ey",
		"ws://h/a%2Fb/../c?":    "h:80 false true ws://h:80/a%2Fb/../c?",
		"mqtt://u|:{p}@h":       "h:1883 false false u| {p}",
	} {
		a, err := ParseAddress(raw)
		require.NoError(t, err, raw)
		got := fmt.Sprint(a.Host, " ", a.Secure, " ", a.Web)
		if a.Username != "" {
			got += " " + a.Username + " " + a.Password
		}
		if a.URL != nil {
			got += " " + a.URL.String()
		}
		assert.Equal(t, want, got)
	}
	for raw, want := range map[string]string{
		"":             "scheme",
		"127.0.0.1":    "scheme",
		"mqtt://u:p@":  "no host",
		"mqtt://h:9a/": "port",
		"http://h":     `scheme is "http"`,
		`ws://h/a"b`:   "%22",
	} {
		_, err := ParseAddress(raw)
		assert.ErrorContains(t, err, want, raw)
	}
}

package send

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Regression: a server that repeats what was posted put the secrets of a path, a header field or a body into reports.
func TestWhatAServerRepeatsHasNoSecrets(t *testing.T) {
	t.Parallel()
	o := Ingest{
		Token: "hunter-1", Path: "/m?api_key=hunter%2D2&v=1&hunter-3", BatchPath: "/m",
		Headers: map[string]string{"X-Api-Key": "hunter-4", "Authorization": "Basic hunter-5", "X-Tenant": "someone"},
	}
	for text, want := range map[string]string{
		"Cannot POST /m?api_key=hunter%2D2&amp;v=1": "Cannot POST /m?api_key=…&amp;v=1",
		"Bearer hunter-1, hunter-2 hunter-3":        "Bearer …, … …",
		"hunter-4 of someone; Basic hunter-5":       "… of someone; …",
		"hunter-5":                                  "…",
		`{"got":{"password":"hunter-6","n":1}}`:     `{"got":{"password":"…","n":1}}`,
		`{\"Secret\": \"hunter-7\"}`:                `{\"Secret\": \"…\"}`,
		strings.Repeat("x", 150) + "   hunter-1":    strings.Repeat("x", 150) + " …",
		strings.Repeat("x", 156) + "hunter-1":       strings.Repeat("x", 156) + "…",
	} {
		a := Answer{Status: 404, Body: func() []byte { return []byte(text) }, Secrets: o.Secrets()}
		assert.Equal(t, want, a.Excerpt(), text)
		assert.NotContains(t, a.Describe(), "hunter")
	}
}

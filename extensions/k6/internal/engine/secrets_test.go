package engine

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
)

// Regression: the secret of a path was in a report where the ingest repeated it, and that of a body where a message
// arrived altered.
func TestReportsHaveNoSecretsOfRequests(t *testing.T) {
	t.Parallel()
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "Cannot POST "+r.URL.String()+" "+r.Header.Get("Authorization"), http.StatusNotFound)
	}))
	defer echo.Close()
	more := func(_ int, body []byte) []byte { return append(slices.Clone(body), ' ') }
	for options, f := range map[string]*fake.Pipeline{
		"ingest: { url: '" + echo.URL + "', path: '/m?key=hunter2', token: 'hunter2' }, ":  {},
		`body: '{"id":"{{id}}","target":"{{target}}","password":"hunter2"}', idle: '2s', `: {Rewrite: more},
	} {
		r := newScript(t, f, twenty, options).run()
		text, err := json.Marshal(r)
		require.NoError(t, err)
		require.NotEmpty(t, r.Errors)
		assert.Contains(t, r.Errors[0].Example, "…")
		assert.False(t, strings.Contains(string(text), "hunter2"), options)
	}
}

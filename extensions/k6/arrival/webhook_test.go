package arrival

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
)

// A callback address travels in the message.
func TestTheScriptKnowsTheURLOfTheWebhook(t *testing.T) {
	t.Parallel()
	callback := regexp.MustCompile(`"callback":"([^"]+)"`)
	var url string
	hook := &fake.Webhook{}
	f := &fake.Pipeline{Rewrite: func(_ int, body []byte) []byte {
		url = string(callback.FindSubmatch(body)[1])
		return body
	}}
	f.Outlet = hook
	s := newScript(t, f, "phases: [{duration: 60, vus: 1, requests: 4}]\nflows: [{name: direct}]",
		"mqtt: {}, idle: '5s', webhook: {}")
	hook.URL = func() string { return url }
	_, err := s.runtime.VU.Runtime().RunString("run.webhook.url")
	require.ErrorContains(t, err, "run.webhook.url is not known before the run listens")
	r := s.scripted(f, `for (let slot = run.next(); slot !== null; slot = run.next()) {
		run.settle(slot, post(slot.path, JSON.stringify({ ...JSON.parse(slot.body), callback: run.webhook.url })));
	}`)
	assert.Equal(t, 4, r.Account.Arrived)
}

func TestAFixedURLIsKnownAtOnce(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]string{
		"address: '127.0.0.1:9', path: '/h'":                  "http://127.0.0.1:9/h",
		"address: ':9'":                                       "http://127.0.0.1:9/",
		"address: '[::1]:9'":                                  "http://[::1]:9/",
		"address: ':0', url: 'https://hooks.example.com/a?b'": "https://hooks.example.com/a?b",
	} {
		s := newScript(t, &fake.Pipeline{}, fifty, "mqtt: {}, webhook: { "+options+" }")
		url, err := s.runtime.VU.Runtime().RunString("run.webhook.url")
		require.NoError(t, err, options)
		assert.Equal(t, want, url.String())
	}
}

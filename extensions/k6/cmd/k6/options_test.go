package main

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

const (
	collecting = "export function subscriber() { run.collect(); }\n"
	// posting sends by k6/http in place of run.send().
	posting = "import http from 'k6/http';\n"
	post    = "for (let r = run.next(); r; r = run.next()) " +
		"run.settle(r, http.post(`${given.ingest.url}${r.path}`, r.body, { responseType: 'none' }).status);"
)

// native is a script that sends by the extension's own sender. ahead are lines before the run is made.
func native(ahead string) string {
	imports, _, _ := strings.Cut(making, "const run")
	own := imports + "const given = JSON.parse(__ENV.RUN);\n" + ahead + "const run = new Run(given);\n"
	return strings.Replace(whole, making, own, 1) + collecting
}

// byHTTP is a script that sends by k6/http.
func byHTTP(ahead string) string {
	return posting + strings.Replace(native(ahead), "run.send();", post, 1)
}

// Regression: these options of k6 had no effect on send(), without a word.
func TestOptionsOfK6ThatTheSenderCannotHonourAreRefused(t *testing.T) {
	t.Parallel()
	for option, c := range map[string]struct{ set, environment, flag string }{
		"batch":          {set: "options.batch = 5;"},
		"batchPerHost":   {environment: "K6_BATCH_PER_HOST=2"},
		"httpDebug":      {flag: "--http-debug=full"},
		"maxRedirects":   {flag: "--max-redirects=3"},
		"noCookiesReset": {set: "options.noCookiesReset = true;"},
		"throw":          {environment: "K6_THROW=true"},
	} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			pipeline := test.Start(t, &fake.Pipeline{})
			var environment, flags []string
			if c.environment != "" {
				environment = []string{c.environment}
			}
			if c.flag != "" {
				flags = []string{c.flag}
			}
			r := runScriptIn(t, environment, pipeline, native("given.canary = true;\n")+c.set, flags...)
			assert.NotContains(t, []int{0, 99, 110}, r.code, r.output)
			assert.Contains(t, r.output, option+" (")
			assert.Zero(t, pipeline.Requests(), "not even a greeting")
			assert.NoDirExists(t, r.dir)
		})
	}
}

// They are for k6/http, and a script that sends by it has them.
func TestAScriptThatSendsByHTTPHasAllOptionsOfK6(t *testing.T) {
	t.Parallel()
	set := "Object.assign(options, { batch: 5, batchPerHost: 2, maxRedirects: 3, throw: true, noCookiesReset: true });"
	r := runScriptIn(t, []string{"K6_DISCARD_RESPONSE_BODIES=true"}, test.Start(t, &fake.Pipeline{}), byHTTP("")+set,
		"--http-debug=headers")
	assert.Equal(t, 50, test.Run(t, r.dir).Account.Arrived, r.output)
}

// Regression: a script that sends by k6/http was refused where the environment has a proxy.
func TestOnlyTheSenderCannotUseAProxy(t *testing.T) {
	t.Parallel()
	pipeline := test.Start(t, &fake.Pipeline{})
	to, err := url.Parse(pipeline.IngestURL())
	require.NoError(t, err)
	var passed atomic.Int64
	forward := httputil.NewSingleHostReverseProxy(to)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		passed.Add(1)
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	environment := []string{"HTTP_PROXY=" + proxy.URL}
	named := "given.ingest.url = given.ingest.url.replace('127.0.0.1', 'ingest.test'); given.canary = true;\n"

	r := runScriptIn(t, environment, pipeline, native(named))
	assert.NotContains(t, []int{0, 99, 110}, r.code, r.output)
	assert.Contains(t, r.output, "NO_PROXY")
	assert.Zero(t, passed.Load())
	assert.Zero(t, pipeline.Requests())

	r = runScriptIn(t, environment, pipeline, byHTTP(named))
	assert.Equal(t, 50, test.Run(t, r.dir).Account.Arrived, r.output)
	assert.Equal(t, int64(50), passed.Load())
	assert.Contains(t, r.output, "canary", "it is left out, and the log says why")
}

package engine

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/lib"
	"golang.org/x/net/http/httpproxy"
	"golang.org/x/time/rate"
	"gopkg.in/guregu/null.v3"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/send"
)

// sendAll sends the load as one VU.
func sendAll(s *script) func(context.Context, *Engine) {
	return func(ctx context.Context, e *Engine) {
		for vu := NewSender(e, s.state); vu.Send(ctx); {
		}
	}
}

const thirty = "phases: [{duration: 1, arrivalRate: 30}]\nflows: [{name: direct}]"

// Regression: these options of k6 had no effect on send().
func TestOptionsOfK6HoldForTheSender(t *testing.T) {
	t.Parallel()
	opened := func(options lib.Options) int64 {
		s := newScript(t, &fake.Pipeline{}, thirty, "maxSenders: 1")
		s.state.Options = options
		r := s.runWith(1, sendAll(s))
		require.Equal(t, 30, r.Account.Arrived)
		return s.engine.notes.connects.Count
	}
	assert.Equal(t, int64(1), opened(lib.Options{}))
	assert.Equal(t, int64(30), opened(lib.Options{NoConnectionReuse: null.BoolFrom(true)}))
	assert.Equal(t, int64(30), opened(lib.Options{NoVUConnectionReuse: null.BoolFrom(true)}))
}

func TestTheRateLimitOfK6HoldsForTheSender(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, thirty, "")
	s.state.RPSLimit = rate.NewLimiter(10, 1)
	began := time.Now()
	r := s.runWith(4, sendAll(s))
	assert.Equal(t, 30, r.Account.Arrived)
	assert.GreaterOrEqual(t, time.Since(began), 2900*time.Millisecond, "30 at 10/s, the first at once")
	assert.Greater(t, *r.Latency.Stages["schedule"].Max, 1500.0, "what the limit held back is late")
}

func TestTheUserAgentOfK6IsSentUnlessTheScriptHasOne(t *testing.T) {
	t.Parallel()
	agent := lib.Options{UserAgent: null.StringFrom("k6 of mine")}
	assert.Equal(t, map[string]string{"User-Agent": "k6 of mine", "X": "y"},
		withK6(send.Ingest{Headers: map[string]string{"X": "y"}}, agent).Headers)
	own := map[string]string{"user-agent": "script"}
	assert.Equal(t, own, withK6(send.Ingest{Headers: own}, agent).Headers)
	assert.Nil(t, withK6(send.Ingest{}, lib.Options{}).Headers)
}

func TestAProxyOfTheEnvironmentIsRefusedForTheSender(t *testing.T) {
	t.Parallel()
	environment := &httpproxy.Config{
		HTTPProxy: "http://proxy:3128", HTTPSProxy: "proxy:3128", NoProxy: "inside.example,10.0.0.0/8",
	}
	check := func(ingest string, environment *httpproxy.Config) error {
		o := Options{Ingest: send.Ingest{URL: ingest}}
		return o.checkSender(lib.Options{}, environment)
	}
	for ingest, refused := range map[string]bool{
		"http://api.example": true, "https://api.example:8443/x": true,
		"http://inside.example": false, "http://10.1.2.3:80": false,
		"http://127.0.0.1:18080": false, "http://localhost:18080": false, "": false,
	} {
		assert.Equal(t, refused, check(ingest, environment) != nil, ingest)
	}
	assert.ErrorContains(t, check("http://api.example", environment), "add api.example to NO_PROXY")
	assert.NoError(t, check("http://api.example", &httpproxy.Config{}))
}

// Regression: clients of WebSocket and of server-sent events connected past the proxy, without a word.
func TestAProxyOfTheEnvironmentIsRefusedForReceivers(t *testing.T) {
	t.Parallel()
	environment := &httpproxy.Config{HTTPProxy: "http://proxy:3128", HTTPSProxy: "proxy:3128",
		NoProxy: "inside.example"}
	for receiver, refused := range map[string]bool{
		"websocket: { url: 'ws://api.example/{{target}}?a=b' }": true, "websocket: { url: 'wss://api.example' }": true,
		"sse: { url: 'http://api.example/events' }": true, "sse: { url: 'https://api.example:8443' }": true,
		"sse: { url: 'http://inside.example' }": false, "websocket: { url: 'ws://127.0.0.1:1/' }": false,
		"webhook: {}": false, "arrived: {}": false, "mqtt: { url: 'mqtt://api.example' }": false,
	} {
		s := newScript(t, &fake.Pipeline{}, thirty, "mqtt: {}, "+receiver)
		err := s.engine.options.checkReceivers(environment)
		assert.Equal(t, refused, err != nil, receiver)
		if refused {
			assert.ErrorContains(t, err, "add api.example to NO_PROXY")
		}
	}
}

func TestOptionsThatOnlyHTTPHasAreRefusedForTheSender(t *testing.T) {
	t.Parallel()
	for option, set := range map[string]lib.Options{
		"batch (": {Batch: null.IntFrom(20)}, "batchPerHost (": {BatchPerHost: null.IntFrom(6)},
		"httpDebug (": {HTTPDebug: null.StringFrom("headers")}, "maxRedirects (": {MaxRedirects: null.IntFrom(10)},
		"noCookiesReset (": {NoCookiesReset: null.BoolFrom(true)}, "throw (": {Throw: null.BoolFrom(true)},
	} {
		err := (&Options{}).checkSender(set, &httpproxy.Config{})
		assert.ErrorContains(t, err, option)
		assert.NotContains(t, err.Error(), "\n")
		assert.NoError(t, (&Options{Publishers: &send.PublisherOptions{}}).checkSender(set, &httpproxy.Config{}))
	}
	for _, allowed := range []lib.Options{
		{MaxRedirects: null.IntFrom(0), Throw: null.BoolFrom(false)},
		{HTTPDebug: null.StringFrom(""), NoCookiesReset: null.BoolFrom(false)},
		// k6's defaults:
		{MaxRedirects: null.NewInt(10, false), Batch: null.NewInt(20, false), BatchPerHost: null.NewInt(6, false)},
	} {
		assert.NoError(t, (&Options{}).checkSender(allowed, &httpproxy.Config{}))
	}
	limited := lib.Options{RPS: null.IntFrom(5)}
	err := (&Options{Publishers: &send.PublisherOptions{}}).checkSender(limited, &httpproxy.Config{})
	assert.ErrorContains(t, err, "rps")
}

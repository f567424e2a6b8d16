package engine

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/facts"
	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

const fifty = "phases: [{duration: 1, arrivalRate: 50}]\nflows: [{name: direct}]"

// calling returns a script whose messages arrive at a webhook, which f calls.
func calling(t *testing.T, f *fake.Pipeline, hook *fake.Webhook, profile, options string) *script {
	t.Helper()
	var s *script
	hook.URL = func() string {
		l, ok := s.engine.Receiver().(receive.CallbackReceiver)
		assert.True(t, ok)
		return l.URL()
	}
	f.Outlet = hook
	s = newScript(t, f, profile, "mqtt: {}, idle: '5s', "+options)
	return s
}

func classes(r *runfile.Run, stage string) map[string]int {
	found := map[string]int{}
	for _, e := range r.Errors {
		if e.Stage == stage {
			found[e.Class] += e.Count
		}
	}
	return found
}

func TestMessagesArriveAtAWebhook(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Delay: 50 * time.Millisecond, Copies: func(nth int) int {
		switch {
		case nth%10 == 0:
			return 0
		case nth%25 == 1:
			return 2
		}
		return 1
	}}
	r := calling(t, f, &fake.Webhook{}, fifty, "webhook: { path: '/hooks' }").run()
	assert.Equal(t, []int{50, 45, 5, 2, 0}, []int{
		r.Account.Scheduled, r.Account.Arrived, r.Account.Lost, r.Account.Duplicates, r.Account.Foreign,
	})
	assert.True(t, r.Account.Balanced)
	result, reasons, _ := verdict(r)
	assert.Equal(t, runfile.Fail, result, reasons)
	assert.GreaterOrEqual(t, *r.Latency.Arrival.Min, 50.0)
	assert.Empty(t, classes(r, "webhook"))
}

func TestTheCanaryAndTheGreetingComeToTheWebhookToo(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{}
	r := calling(t, f, &fake.Webhook{}, fifty, "webhook: {}, canary: true").run()
	result, reasons, _ := verdict(r)
	assert.Equal(t, runfile.Pass, result, reasons)
	assert.Equal(t, []int{50, 0, 1}, []int{r.Account.Arrived, r.Account.Foreign, r.Canary.Arrived})
	assert.Equal(t, 52, f.Requests(), "the greeting, the load, the canary")
}

// The pipeline takes the address that it calls from the message.
func TestTheURLOfTheWebhookTravelsInTheMessage(t *testing.T) {
	t.Parallel()
	hook := &fake.Webhook{}
	require.NoError(t, hook.Start()) // a free port
	at := hook.URL()
	var others atomic.Int64
	f := &fake.Pipeline{Rewrite: func(_ int, body []byte) []byte {
		if !bytes.Contains(body, []byte(`"to":"`+at+`/hooks"`)) {
			others.Add(1)
		}
		return body
	}}
	options := "canary: true, body: '{\"id\":\"{{id}}\",\"to\":\"{{webhook}}\"}', webhook: { path: '/hooks', address: '" +
		strings.TrimPrefix(at, "http://") + "' }"
	r := calling(t, f, &fake.Webhook{}, fifty, options).run()
	result, reasons, _ := verdict(r)
	assert.Equal(t, runfile.Pass, result, reasons)
	assert.Equal(t, []int{50, 1}, []int{r.Account.Arrived, r.Canary.Arrived})
	assert.Zero(t, others.Load())
}

func TestASilentWebhookIsNamedBeforeTheLoad(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Copies: func(int) int { return 0 }}
	s := calling(t, f, &fake.Webhook{}, fifty, "webhook: { path: '/hooks' }, canary: true, drain: 1")
	err := s.engine.collect(t.Context(), s.state, s.metrics)
	require.Error(t, err)
	assert.Regexp(t, regexp.MustCompile(`did not arrive on http://127\.0\.0\.1:\d+/hooks`), err.Error())
	assert.Less(t, f.Requests(), 20, "nothing of the load is sent")
}

// Regression: "no call came to the webhook", though calls came and were refused.
func TestCallsThatAWebhookDoesNotTakeAreTheCause(t *testing.T) {
	t.Parallel()
	const signed = "webhook: { secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }, "
	for options, says := range map[string]string{
		"webhook: { path: '/other' }, ": "× other path (POST /hooks)",
		signed:                          "× signature (",
		"webhook: { refuse: { share: 1, status: 500 } }, ": "× refused on purpose",
	} {
		for _, greets := range []string{"false", "true"} {
			t.Run(options+greets, func(t *testing.T) {
				t.Parallel()
				hook := &fake.Webhook{}
				s := calling(t, &fake.Pipeline{}, hook, fifty, options+"canary: "+greets+", drain: 1")
				url := hook.URL
				if strings.Contains(says, "path") {
					hook.URL = func() string { return strings.TrimSuffix(url(), "/other") + "/hooks" }
				}
				if greets == "true" {
					err := s.engine.collect(t.Context(), s.state, s.metrics)
					require.Error(t, err)
					assert.Regexp(t, `did not take what came: \d+ `+regexp.QuoteMeta(says), err.Error())
					return
				}
				r := s.run()
				// On a busy machine not every call has come when the run stops waiting.
				assert.Regexp(t, `the webhook took none of the calls that came: \d+ `+regexp.QuoteMeta(says), facts.Cause(r))
			})
		}
	}
}

// The id of a message may be in a header field, with a body that has none.
func TestIDsInHeaderFields(t *testing.T) {
	t.Parallel()
	id := regexp.MustCompile(`"id":"([^"]+)"`)
	for field, option := range map[string]string{"Webhook-Id": "", "Ce-Id": "",
		"X-Message": "idFrom: 'header:x-message', "} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			hook := &fake.Webhook{Sign: func(header http.Header, payload []byte) {
				header.Set(field, string(payload))
			}}
			f := &fake.Pipeline{Rewrite: func(_ int, body []byte) []byte { return id.FindSubmatch(body)[1] }}
			hook.Sign = func(header http.Header, payload []byte) { header.Set(field, string(payload)) }
			r := calling(t, f, hook, fifty, option+"webhook: {}, verify: 'off', canary: true").run()
			assert.Equal(t, []int{50, 0, 1}, []int{r.Account.Arrived, r.Account.Foreign, r.Canary.Arrived})
		})
	}
}

// Webhook ids of the pipeline's own don't hide those in the body.
func TestAWebhookIDOfThePipelineIsNoID(t *testing.T) {
	t.Parallel()
	hook := &fake.Webhook{Sign: func(header http.Header, _ []byte) { header.Set("Webhook-Id", "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W") }}
	f := &fake.Pipeline{Rewrite: func(_ int, body []byte) []byte {
		return fmt.Appendf(nil, `{"specversion":"1.0","id":"event-1","type":"t","source":"s","data":%s}`, body)
	}}
	r := calling(t, f, hook, fifty, "webhook: {}, verify: 'off'").run()
	assert.Equal(t, []int{50, 0}, []int{r.Account.Arrived, r.Account.Foreign})
}

func TestASignatureIsChecked(t *testing.T) {
	t.Parallel()
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	right, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)
	wrong, err := standardwebhooks.NewWebhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSx")
	require.NoError(t, err)
	nth := 0
	hook := &fake.Webhook{Sign: func(header http.Header, payload []byte) {
		by := right
		switch nth++; {
		case nth%10 == 0:
			by = wrong
		case nth%10 == 1:
			return
		}
		now := time.Now()
		signature, err := by.Sign("msg_1", now, payload)
		assert.NoError(t, err)
		header.Set("Webhook-Id", "msg_1")
		header.Set("Webhook-Timestamp", fmt.Sprint(now.Unix()))
		header.Set("Webhook-Signature", "v1a,x "+signature)
	}}
	r := calling(t, &fake.Pipeline{}, hook, fifty, "webhook: { secret: '"+secret+"' }").run()
	assert.Equal(t, []int{40, 10}, []int{r.Account.Arrived, r.Account.Lost})
	assert.Equal(t, map[string]int{"signature": 10}, classes(r, "webhook"))
}

// A pipeline may sign its calls by a header field of its own.
func TestASignatureOfTheirOwnIsChecked(t *testing.T) {
	t.Parallel()
	for text, sign := range map[string]func(mac []byte) string{
		"X-Hub-Signature-256: sha256={{sha256:hex}}": func(mac []byte) string { return "sha256=" + hex.EncodeToString(mac) },
		"X-Shop-Hmac: {{sha256:base64}}":             base64.StdEncoding.EncodeToString,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			header, _, _ := strings.Cut(text, ":")
			nth := 0
			hook := &fake.Webhook{Sign: func(fields http.Header, payload []byte) {
				secret := "a secret"
				switch nth++; {
				case nth%10 == 0:
					secret = "another"
				case nth%10 == 1:
					return
				}
				mac := hmac.New(sha256.New, []byte(secret))
				mac.Write(payload)
				fields.Set(header, sign(mac.Sum(nil)))
			}}
			r := calling(t, &fake.Pipeline{}, hook, fifty, "webhook: { secret: 'a secret', signature: '"+text+"' }").run()
			assert.Equal(t, []int{40, 10}, []int{r.Account.Arrived, r.Account.Lost})
			assert.Equal(t, map[string]int{"signature": 10}, classes(r, "webhook"))
		})
	}
}

// A pipeline that repeats refused calls loses nothing, and an answer that is late on purpose delays no arrival.
func TestCallsAreRefusedAndAnsweredLateOnPurpose(t *testing.T) {
	t.Parallel()
	r := calling(t, &fake.Pipeline{}, &fake.Webhook{Retries: 3}, fifty,
		"webhook: { status: 200, refuse: { share: 0.2, status: 429 }, late: { share: 0.04, seconds: 0.3 } }").run()
	assert.Equal(t, []int{50, 0}, []int{r.Account.Arrived, r.Account.Duplicates})
	assert.Equal(t, map[string]int{"refused on purpose": 12}, classes(r, "webhook"), "a fifth of 62 calls")
}

func TestARefusedCallThatIsNotRepeatedIsLost(t *testing.T) {
	t.Parallel()
	r := calling(t, &fake.Pipeline{}, &fake.Webhook{}, fifty, "webhook: { refuse: { share: 0.1 } }").run()
	assert.Equal(t, []int{45, 5}, []int{r.Account.Arrived, r.Account.Lost})
}

// A pipeline whose connections end within calls loses nothing if it calls again; else the run fails with what was lost.
func TestCallsThatAreCutOff(t *testing.T) {
	t.Parallel()
	tenth := func(nth int) bool { return nth%10 == 0 }
	r := calling(t, &fake.Pipeline{}, &fake.Webhook{CutOff: tenth, Retries: 1}, fifty, "webhook: {}").run()
	result, reasons, _ := verdict(r)
	assert.Equal(t, runfile.Pass, result, reasons)
	assert.Equal(t, []int{50, 0}, []int{r.Account.Arrived, r.Account.Duplicates})
	assert.Equal(t, map[string]int{"cut off or malformed": 5}, classes(r, "webhook"))

	r = calling(t, &fake.Pipeline{}, &fake.Webhook{CutOff: tenth}, fifty, "webhook: {}, idle: '1s'").run()
	result, reasons, _ = verdict(r)
	assert.Equal(t, runfile.Fail, result, reasons)
	assert.Contains(t, reasons, "lost: 5 of 50 messages were accepted and never arrived")
	assert.True(t, r.Account.Balanced)
}

// The stamps of a header field split the time in stages, which sum to the arrival.
func TestStampsComeInAHeaderField(t *testing.T) {
	t.Parallel()
	for _, field := range []string{"Arrival-Hops", "X-Stamps"} {
		f := &fake.Pipeline{Redis: &fake.Redis{},
			Hops: func(at time.Time) string { return fmt.Sprintf("%d,10,20,30", at.UnixMicro()) }}
		hook := &fake.Webhook{Sign: func(header http.Header, _ []byte) {
			header.Set(field, header.Get("Arrival-Hops"))
			if field != "Arrival-Hops" {
				header.Del("Arrival-Hops")
			}
		}}
		r := calling(t, f, hook, fifty,
			"redis: { url: 'REDIS' }, webhook: { hops: '"+strings.ToLower(field)+"' }").run()
		assert.Equal(t, 50, r.Account.Arrived)
		assert.Equal(t, int64(50), r.Latency.Stages["queue"].Count, field)
	}
}

func TestWrongOptionsOfAWebhookAreRefused(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]string{
		"webhook: { address: '9000' }":                          "webhook.address (WEBHOOK_ADDRESS) \"9000\"",
		"webhook: { address: 'http://h:1' }":                    "webhook.address (WEBHOOK_ADDRESS)",
		"webhook: { address: 'h:99999' }":                       "webhook.address (WEBHOOK_ADDRESS)",
		"webhook: { path: 'hooks' }":                            "webhook.path (WEBHOOK_PATH) \"hooks\"",
		"webhook: { url: 'mqtt://h' }":                          "webhook.url (WEBHOOK_URL)",
		"webhook: { status: 0 }":                                "webhook.status 0",
		"webhook: { status: 503 }":                              "webhook.status 503",
		"webhook: { late: { share: 2, seconds: 1 } }":           "webhook.late.share 2",
		"webhook: { late: { share: 0.5 } }":                     "webhook.late has a share and seconds",
		"webhook: { refuse: { share: -1 } }":                    "webhook.refuse.share -1",
		"webhook: { refuse: { share: 1, status: 200 } }":        "webhook.refuse.status 200",
		"webhook: { secret: 'whsec_' }":                         "webhook.secret (WEBHOOK_SECRET)",
		"webhook: { secret: '%' }":                              "webhook.secret (WEBHOOK_SECRET)",
		"webhook: { signature: 'X: {{sha256:hex}}' }":           "is set without webhook.secret (WEBHOOK_SECRET)",
		"webhook: { secret: 'x', signature: 'X: {{md5:hex}}' }": "webhook.signature (WEBHOOK_SIGNATURE) \"X: {{md5:hex}}\"",
		"webhook: { secret: 'x', signature: '{{sha256:hex}}' }": "allowed: X-Hub-Signature-256: sha256={{sha256:hex}}",
		"webhook: { cert: 'x' }":                                "webhook.cert and webhook.key",
		"webhook: { adress: ':1' }":                             `unknown option "webhook.adress"`,
		"webhook: {}, queue: { url: 'redis://h' }":              "queue and webhook are set",
		"webhook: {}, answers: true, canary: false":             "answers and webhook are set",
		"webhook: {}, mqtt: { url: 'mqtt://h' }":                "leave out mqtt.url (MQTT_URL)",
		"webhook: {}, everyFlow: { targets: 3 }, publishers: { url: 'mqtt://h', connections: 1, rate: 1 }": "publishers send to the broker",
	} {
		_, err := made(t, fmt.Sprintf("{ profile: %q, ingest: { url: 'http://h' }, %s }", fifty, options))
		assert.ErrorContains(t, err, want, options)
	}
	five := "phases: [{duration: 1, arrivalRate: 50}]\nflows: [{name: room, deliveries: 5}]"
	_, err := made(t, fmt.Sprintf("{ profile: %q, ingest: { url: 'http://h' }, webhook: {} }", five))
	assert.ErrorContains(t, err, `flow "room" has 5 deliveries`)
}

func TestCallsThatAreNoneAreCounted(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{}
	hook := &fake.Webhook{}
	s := calling(t, f, hook, fifty, "webhook: { path: '/hooks' }")
	f.Rewrite = func(nth int, body []byte) []byte {
		if nth == 1 {
			url := hook.URL()
			for _, one := range []struct{ method, url string }{
				{"POST", url + "/other"}, {"GET", url}, {"OPTIONS", url}, {"POST", url},
			} {
				request, err := http.NewRequest(one.method, one.url, bytes.NewReader([]byte("hello")))
				assert.NoError(t, err)
				answer, err := http.DefaultClient.Do(request)
				if assert.NoError(t, err) {
					assert.NoError(t, answer.Body.Close())
				}
			}
		}
		return body
	}
	r := s.run()
	assert.Equal(t, []int{50, 1}, []int{r.Account.Arrived, r.Account.Foreign})
	assert.Equal(t, map[string]int{"other path": 1, "other method": 1}, classes(r, "webhook"))
}

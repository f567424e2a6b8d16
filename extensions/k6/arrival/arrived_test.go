package arrival

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/grafana/sobek"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// consuming is a script whose VU is the consumer of what its ingest passes on.
type consuming struct {
	*script
	passed chan []byte // bodies of requests
	done   chan error  // the consumer's iteration
}

// newConsuming makes a run that receives by run.arrived(). pass says how often the nth request is passed on.
func newConsuming(t *testing.T, profile, options string, pass func(nth int) int) *consuming {
	t.Helper()
	c := &consuming{passed: make(chan []byte, 10_000), done: make(chan error, 1)}
	var mu sync.Mutex
	nth := 0
	ingest := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		mu.Lock()
		nth++
		copies := pass(nth)
		mu.Unlock()
		for range copies {
			c.passed <- body
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(ingest.Close)
	c.script = newScript(t, &fake.Pipeline{}, profile,
		fmt.Sprintf("ingest: { url: %q }, mqtt: undefined, arrived: {}, idle: '3s', %s", ingest.URL, options))
	return c
}

func once(int) int { return 1 }

// consume runs the iteration of a consumer in its event loop. Its script has listen(handler), a client that calls the
// handler with each message and the time when it came, until the promise of run.subscribed() resolves.
func (c *consuming) consume(consumer string) {
	vu := c.runtime.VU
	require.NoError(c.t, vu.Runtime().Set("listen", func(handler sobek.Callable) {
		again := vu.RegisterCallback()
		next := make(chan func(func() error), 1)
		next <- again
		over := c.module.root.engine.Consumers().Over()
		go func() {
			for {
				callback := <-next
				select {
				case body := <-c.passed:
					at := float64(time.Now().UnixMicro()) / 1000
					callback(func() error {
						next <- vu.RegisterCallback()
						_, err := handler(sobek.Undefined(), vu.Runtime().ToValue(string(body)),
							vu.Runtime().ToValue(at))
						return err
					})
				case <-over:
					callback(func() error { return nil })
					return
				}
			}
		}()
	}))
	require.NoError(c.t, vu.Runtime().Set("busy", func(ms int) { time.Sleep(time.Duration(ms) * time.Millisecond) }))
	go func() {
		_, err := c.runtime.RunOnEventLoop(consumer)
		c.done <- err
	}()
}

// collects runs the load beside the consumer.
func (c *consuming) collects(consumer string) *runfile.Run {
	c.t.Helper()
	c.consume(consumer)
	e := c.module.root.engine
	var senders sync.WaitGroup
	for range 8 {
		senders.Go(func() { c.send(c.t.Context()) })
	}
	require.NoError(c.t, e.Collect(c.t.Context(), c.state, c.module.metrics))
	senders.Wait()
	return c.written()
}

// Regression: only MQTT, the pipeline's queue and answers could be received.
func TestAScriptReceives(t *testing.T) {
	t.Parallel()
	c := newConsuming(t, "phases: [{duration: 1, arrivalRate: 40}]\nflows: [{name: direct}]", "greet: true",
		func(nth int) int {
			switch nth { // the first one is the greeting
			case 11:
				return 0
			case 21:
				return 2
			}
			return 1
		})
	r := c.collects(`run.subscribed().then(() => { ended = true }); listen((body, at) => run.arrived(body, { at }));`)
	require.NoError(t, <-c.done)
	assert.Equal(t, [4]int{40, 39, 1, 1}, [4]int{r.Account.Scheduled, r.Account.Arrived, r.Account.Lost,
		r.Account.Duplicates})
	assert.Zero(t, r.Account.Foreign)
	assert.True(t, r.Account.Balanced)
	assert.True(t, c.runtime.VU.Runtime().Get("ended").ToBoolean(),
		"the promise of run.subscribed() resolves at the end")
}

// Regression: the message that goes round before the load was not recognised where a script hands over ids alone, and
// the run did not begin.
func TestTheGreetingMayArriveAsItsIDAlone(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"text", "uuid", "number"} {
		c := newConsuming(t, "phases: [{duration: 1, arrivalRate: 20}]\nflows: [{name: direct}]",
			fmt.Sprintf("greet: true, idFormat: %q", form), once)
		r := c.collects(`run.subscribed(); listen((body) => run.arrived(JSON.parse(body).id));`)
		require.NoError(t, <-c.done, form)
		assert.Equal(t, [3]int{20, 0, 0}, [3]int{r.Account.Arrived, r.Account.Altered, r.Account.Foreign}, form)
	}
}

// A handler that is late by 20 ms: the client's own time of receipt keeps the latency right, and without it the run
// says that it measured the handler.
func TestALateHandlerIsMeasured(t *testing.T) {
	t.Parallel()
	const profile = "phases: [{duration: 1, arrivalRate: 20}]\nflows: [{name: direct}]"
	c := newConsuming(t, profile, "", once)
	r := c.collects(`run.subscribed(); listen((body) => { busy(20); run.arrived(body) });`)
	require.NoError(t, <-c.done)
	assert.Equal(t, 20, r.Account.Arrived)
	require.NotNil(t, r.Health.SocketWait)
	assert.GreaterOrEqual(t, *r.Health.SocketWait.P99, 10.0)
	waited := slices.IndexFunc(r.Verdict.Rules, func(rule runfile.Rule) bool { return rule.Name == "socket_wait" })
	require.GreaterOrEqual(t, waited, 0)
	if rule := r.Verdict.Rules[waited]; *rule.Value > *rule.Limit { // on a busy machine everything is late
		assert.Contains(t, rule.Reason, "before the script's handler ran")
		assert.Equal(t, runfile.Pass, r.Verdict.Result, "no limit depends on it")
		assert.Contains(t, r.Verdict.Doubts, rule.Reason)
	}

	c = newConsuming(t, profile, "", once)
	r = c.collects(`run.subscribed(); listen((body, at) => { busy(20); run.arrived(body, { at }) });`)
	require.NoError(t, <-c.done)
	assert.Nil(t, r.Health.SocketWait, "how late the client read is not known, so it is not 0")
}

func TestAScriptReceivesListsAndBytes(t *testing.T) {
	t.Parallel()
	c := newConsuming(t, "phases: [{duration: 1, arrivalRate: 20}]\nflows: [{name: room, deliveries: 2}]",
		"arrived: { consumers: 1 }", once)
	r := c.collects(`
		run.subscribed();
		let n = 0;
		listen((body) => {
			const bytes = new Uint8Array([...body].map((c) => c.charCodeAt(0)));
			run.arrived([body, { payload: bytes, subscriber: 2, at: Date.now() }]);
			run.arrived(JSON.parse(body).id, { subscriber: 2 });
		});`)
	require.NoError(t, <-c.done)
	assert.Equal(t, [3]int{20, 40, 20}, [3]int{r.Account.Arrived, r.Account.Deliveries.Arrived, r.Account.Duplicates})
	assert.Zero(t, r.Account.Altered, "an id alone is not compared with the message")
	assert.Zero(t, r.Account.Foreign)
}

func TestAConsumerThatEndsEarlyIsAGap(t *testing.T) {
	t.Parallel()
	c := newConsuming(t, "phases: [{duration: 1, arrivalRate: 20}]\nflows: [{name: direct}]", "", once)
	var end context.CancelFunc
	c.runtime.VU.CtxField, end = context.WithCancel(c.runtime.VU.CtxField)
	require.NoError(t, c.runtime.VU.Runtime().Set("end", end))
	r := c.collects(
		`run.subscribed(); let n = 0; listen((body) => { if (++n < 10) run.arrived(body); if (n === 10) end() });`)
	require.NoError(t, <-c.done)
	result, reasons, _ := test.Verdict(r)
	assert.Equal(t, runfile.Invalid, result)
	assert.Contains(t, fmt.Sprint(reasons), "had no connection (once)")
	require.Len(t, r.Health.Gaps, 1)
	assert.Contains(t, r.Health.Gaps[0].Reason, "its iteration ended before the run")
}

func TestTheLoadWaitsForTheConsumers(t *testing.T) {
	t.Parallel()
	c := newConsuming(t, "phases: [{duration: 1, arrivalRate: 20}]\nflows: [{name: direct}]", "", once)
	out, err := c.runtime.VU.Runtime().RunString(`JSON.stringify(run.scenarios().consumer)`)
	require.NoError(t, err)
	assert.Contains(t, out.String(), `"exec":"consumer"`)
	assert.Contains(t, out.String(), `"vus":1`)
	e := c.module.root.engine
	assert.False(t, schedule.IsClosed(e.Consumers().Ready()))
	r := c.collects(`run.subscribed(); run.subscribed(); listen((body) => run.arrived(body));`)
	require.NoError(t, <-c.done)
	assert.Equal(t, 20, r.Account.Arrived)
}

func TestWrongCallsOfAConsumerAreRefused(t *testing.T) {
	t.Parallel()
	c := newConsuming(t, "phases: [{duration: 1, arrivalRate: 20}]\nflows: [{name: direct}]", "", once)
	for call, want := range map[string]string{
		`run.arrived({ id: 1 })`:                        "JSON.stringify()",
		`run.arrived()`:                                 "takes a payload",
		`run.arrived('x', 5)`:                           "second argument",
		`run.arrived('x', { when: 5 })`:                 `does not know "when"; allowed: at, subscriber, target, hops`,
		`run.arrived('x', { at: '5' })`:                 "has at 5; allowed: ms since 1970",
		`run.arrived('x', { at: Date.now() / 1000 })`:   "allowed: ms since 1970",
		`run.arrived('x', { at: Date.now() + 60000 })`:  "no time to come",
		`run.arrived('x', { at: NaN })`:                 "allowed: ms since 1970",
		`run.arrived('x', { subscriber: 0 })`:           "has subscriber 0; allowed: 1 to 1 (",
		`run.arrived('x', { subscriber: 2 })`:           "has subscriber 2; allowed: 1 to 1 (", // regression: a panic
		`run.arrived('x', { subscriber: 1e300 })`:       "allowed: a whole number, from 1 on",
		`run.arrived('x', { subscriber: 1.5 })`:         "allowed: a whole number, from 1 on",
		`run.arrived('x', { hops: '1' })`:               "redis.url (REDIS_URL) is missing",
		`run.arrived(['x', { payload: 'x', at: 'y' }])`: "message 2 of the list: has at y",
		`run.arrived(['x', { text: 'x' }])`:             "message 2 of the list: does not know",
	} {
		_, err := c.runtime.VU.Runtime().RunString(call)
		assert.ErrorContains(t, err, want, call)
	}
	for options, want := range map[string]string{
		"arrived: {}, mqtt: {url: 'mqtt://h'}":   "leave",
		"arrived: {}, queue: {url: 'redis://h'}": "leave",
		"arrived: {}, answers: true":             "leave",
		"arrived: {}, canary: true":              "canary: false",
		"arrived: { consumers: -1 }":             "arrived.consumers -1 is outside 0 to 10000",
		"arrived: { consumer: 1 }":               `unknown option "arrived.consumer"`,
	} {
		_, err := c.runtime.VU.Runtime().RunString(fmt.Sprintf(
			"new Run({ ingest: {url: 'http://h'}, canary: false, profile: %q, %s })", twenty, options))
		assert.ErrorContains(t, err, want, options)
	}
}

// Regression: a consumer above the deliveries of a message that did not say its subscriber made k6 panic.
func TestAConsumerAboveTheSubscribersSaysWhichItIs(t *testing.T) {
	t.Parallel()
	for of, most := range map[string]int{"arrived: { consumers: 2 }": 2, "arrived: { consumers: 40 }": 32} {
		c := newConsuming(t, "phases: [{duration: 1, arrivalRate: 20}]\nflows: [{name: room, deliveries: 2}]", of, once)
		rt := c.runtime.VU.Runtime()
		for number, want := range map[int]string{
			most: "",
			most + 1: fmt.Sprintf("by consumer %d does not say which subscriber received the message: subscriber %d; "+
				"allowed: 1 to %d", most+1, most+1, most),
		} {
			c.module.consumer = &consumer{number: number, fanOut: true}
			_, err := rt.RunString(`run.arrived('x', { subscriber: 1 })`)
			require.NoError(t, err)
			if _, err = rt.RunString(`run.arrived('x')`); want == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, want)
			}
		}
	}
}

// Whatever a script hands over, k6 goes on.
func TestNoValueOfAScriptEndsTheProcess(t *testing.T) {
	t.Parallel()
	c := newConsuming(t, "phases: [{duration: 1, arrivalRate: 20}]\nflows: [{name: direct}]", "", once)
	rt := c.runtime.VU.Runtime()
	values := []string{
		"undefined", "null", "true", "-1", "0", "0.5", "33", "2147483648", "4294967296", "9007199254740993",
		"-9223372036854775808", "1e300", "-1e300", "NaN", "Infinity", "-Infinity",
		"12345678901234567890n", "''", "'x'", "'-1'",
		"[]", "[[]]", "[null]", "new Array(4294967295)", "({})", "({ length: -1 })", "({ get at() { throw 1 } })",
		"new Uint8Array(2)", "new ArrayBuffer(0)", "new Date(NaN)", "Symbol('x')", "() => 1", "run", "Promise.resolve(1)",
		"new Proxy({}, { get() { throw new Error('x') } })",
	}
	for _, call := range []string{
		"run.arrived(V)", "run.arrived([V])", "run.arrived('x', V)", "run.arrived('x', { at: V })",
		"run.arrived('x', { subscriber: V })", "run.arrived('x', { hops: V })", "run.arrived('x', { target: V })",
		"run.arrived([{ payload: V }])",
		"run.arrived([{ payload: 'x', subscriber: V }])", "run.arrived([{ payload: 'x', at: V }], V)", "run.settle(V, V)",
		"run.settle({ given: {} }, V)", "run.figure(V, V, V)", "run.figure('x', V, 'ms')", "run.answer(V)",
		"run.scenarios(V)", "run.scenarios({ pump: V })", "run.thresholds(V)", "run.thresholds({ x: V })",
		"run.thresholds({ 'arrival.within(1ms)': [V] })",
		"run.summary(V)", "new Run(V)", "new Run({ profile: V })", "new Run({ profile: { name: V, text: V } })",
	} {
		for _, v := range values {
			if v == "new Array(4294967295)" && call != "run.arrived(V)" && call != "run.arrived('x', V)" {
				continue // k6 itself would write it out
			}
			assert.NotPanics(t, func() { _, _ = rt.RunString(strings.ReplaceAll(call, "V", v)) }, "%s of %s", call, v)
		}
	}
}

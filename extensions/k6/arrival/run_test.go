package arrival

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/js/modulestest"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

const template = `<html><script id="run" type="application/json">null</script></html>`

// script is a VU whose script has made a Run against a fake pipeline.
type script struct {
	t       *testing.T
	runtime *modulestest.Runtime
	module  *instance
	state   *lib.State
	samples chan metrics.SampleContainer
	dir     string
}

// noNames resolves nothing: tests stay on 127.0.0.1.
type noNames struct{}

func (noNames) LookupIP(host string) (net.IP, error) {
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// newScript makes a VU. options are JavaScript, added to those that point the run at the pipeline.
func newScript(t *testing.T, f *fake.Pipeline, profile, options string) *script {
	t.Helper()
	require.NoError(t, f.Start())
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	return newScriptAt(t, f, profile, options)
}

// newScriptAt is newScript against a pipeline that has been started. PIPELINE in the options is its ingest's address, BROKER its broker's, REDIS
// its Redis'. flags are k6's.
func newScriptAt(t *testing.T, f *fake.Pipeline, profile, options string, flags ...string) *script {
	t.Helper()
	options = strings.NewReplacer("PIPELINE", f.IngestURL(), "BROKER", f.MQTTURL()).Replace(options)
	if f.Redis != nil {
		options = strings.ReplaceAll(options, "REDIS", f.Redis.URL())
	}
	s := &script{t: t, runtime: modulestest.NewRuntime(t), samples: make(chan metrics.SampleContainer, 100_000), dir: t.TempDir()}
	root := New()
	root.args = flags
	m, ok := root.NewModuleInstance(s.runtime.VU).(*instance)
	require.True(t, ok)
	s.module = m
	rt := s.runtime.VU.Runtime()
	require.NoError(t, rt.Set("Run", m.Exports().Named["Run"]))
	_, err := rt.RunString(fmt.Sprintf(
		`var run = new Run({ profile: %q, ingest: { url: %q, token: 'secret' }, mqtt: { url: %q },
		 dir: %q, template: %q, canary: false, %s });`,
		profile, f.IngestURL(), f.MQTTURL(), s.dir, template, options))
	require.NoError(t, err)

	registry := s.runtime.VU.InitEnv().Registry
	logger := logrus.New()
	logger.SetOutput(os.Stderr)
	s.state = &lib.State{
		Samples: s.samples, Tags: lib.NewVUStateTags(registry.RootTagSet()), Logger: logger,
		BuiltinMetrics: metrics.RegisterBuiltinMetrics(registry), Dialer: netext.NewDialer(net.Dialer{}, noNames{}),
	}
	s.runtime.MoveToVUContext(s.state)
	return s
}

// run collects while a pool of senders sends, as k6's scenarios do, and returns the report.
func (s *script) run() *report.Run {
	s.t.Helper()
	return s.runWith(16, func(ctx context.Context, e *engine) {
		vu := newSender(e, s.state)
		for vu.send(ctx) {
		}
	})
}

// pumped is run with pumps.
func (s *script) pumped() *report.Run { return s.pumpedBy(4) }

func (s *script) pumpedBy(vus int) *report.Run {
	s.t.Helper()
	return s.runWith(vus, func(ctx context.Context, e *engine) { e.pump(ctx, s.state) })
}

func (s *script) runWith(vus int, sender func(context.Context, *engine)) *report.Run {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	e := s.module.root.engine
	var senders sync.WaitGroup
	for range vus {
		senders.Go(func() { sender(ctx, e) })
	}
	require.NoError(s.t, e.collect(ctx, s.state, s.module.metrics))
	senders.Wait()
	out, err := s.runtime.VU.Runtime().RunString(`run.summary({ metrics: {}, state: {}, options: {} }).stdout`)
	require.NoError(s.t, err)
	assert.Contains(s.t, out.String(), filepath.Join(s.dir, "index.html"))
	return s.written()
}

// written is run.json as it stands on disk.
func (s *script) written() *report.Run {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, "run.json"))
	require.NoError(s.t, err)
	var r report.Run
	require.NoError(s.t, json.Unmarshal(data, &r))
	return &r
}

// verdict is the result and its reasons, but for the generator's lateness and CPU: what else runs on the machine decides
// about those. TestTooMuch and TestTooBusy test their rules.
func verdict(r *report.Run) (result string, reasons []string, late int) {
	for _, reason := range r.Verdict.Reasons {
		if strings.HasPrefix(reason, "the generator was ") { // late, or out of CPU
			late++
			continue
		}
		reasons = append(reasons, reason)
	}
	if result = r.Verdict.Result; late > 0 && result == report.Invalid {
		result = report.Pass
		if len(reasons) > 0 {
			result = report.Fail
		}
	}
	return result, reasons, late
}

const steady = `
phases: [{name: steady, duration: 1, arrivalRate: 300}]
flows:
  - {name: direct, weight: 7}
  - {name: room, weight: 2, target: room, targets: 3, deliveries: 5}
  - {name: batch, weight: 1, messages: 10}
`

func TestEveryMessageArrivesOnce(t *testing.T) {
	t.Parallel()
	r := newScript(t, &fake.Pipeline{}, steady, "").run()
	result, reasons, _ := verdict(r)
	assert.Equal(t, report.Pass, result, reasons)
	r.Account.Reordered = 0 // two requests at once may overtake each other
	assert.Equal(t, report.Account{
		Scheduled: 570, Arrived: 570, Balanced: true,
		Requests: report.Requests{Scheduled: 300, Sent: 300}, Deliveries: report.Deliveries{Due: 810, Arrived: 810},
	}, r.Account)
	assert.Equal(t, int64(810), r.Latency.Arrival.Count)
	assert.Equal(t, int64(300), r.Latency.HTTP.Count)
	assert.Equal(t, []int64{210, 300, 300}, []int64{r.Flows[0].Arrived, r.Flows[1].Arrived, r.Flows[2].Arrived})
	assert.Zero(t, r.Latency.Stages["queue"].Count, "no stamps, no stages")
	assert.Equal(t, int64(810), r.Latency.Stages["schedule"].Count)
}

func TestADelayShiftsEveryQuantileByAsMuch(t *testing.T) {
	t.Parallel()
	const delay = 200
	r := newScript(t, &fake.Pipeline{Delay: delay * time.Millisecond}, steady, "").run()
	assert.GreaterOrEqual(t, *r.Latency.Arrival.Min, float64(delay))
	// What a loaded machine adds is not known: how far they are off, the self-test tells.
	assert.Less(t, *r.Latency.HTTP.Min, *r.Latency.Arrival.Min, "the answer does not wait for the delivery")
}

func TestLossIsFoundToTheMessage(t *testing.T) {
	t.Parallel()
	lose := func(nth int) int {
		if nth%100 == 0 {
			return 0
		}
		return 1
	}
	r := newScript(t, &fake.Pipeline{Copies: lose}, steady, "idle: '2s'").run()
	assert.Equal(t, 5, r.Account.Lost)
	assert.Equal(t, 565, r.Account.Arrived)
	assert.True(t, r.Account.Balanced)
	result, reasons, _ := verdict(r)
	assert.Equal(t, report.Fail, result)
	assert.Equal(t, []string{"lost: 5 of 570 messages were accepted and are nowhere"}, reasons)
}

func TestDuplicatesAreFoundToTheMessage(t *testing.T) {
	t.Parallel()
	twice := func(nth int) int {
		if nth%50 == 0 {
			return 2
		}
		return 1
	}
	f := &fake.Pipeline{Copies: twice}
	r := newScript(t, f, "phases: [{duration: 1, arrivalRate: 300}]\nflows: [{name: direct}]", "").run()
	assert.Equal(t, 6, r.Account.Duplicates)
	assert.Equal(t, 300, r.Account.Arrived)
	assert.Equal(t, int64(300), r.Latency.Arrival.Count, "one sample a message")
}

func TestRefusedAndUnansweredRequestsAreToldApart(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Status: func(nth int) int {
		switch {
		case nth%30 == 0:
			return http.StatusServiceUnavailable
		case nth%50 == 1:
			return 0
		}
		return http.StatusAccepted
	}}
	r := newScript(t, f, "phases: [{duration: 1, arrivalRate: 300}]\nflows: [{name: direct}]", "timeout: '3s', idle: '200ms'").run()
	assert.Equal(t, [3]int{10, 6, 284}, [3]int{r.Account.Rejected, r.Account.Unknown, r.Account.Arrived})
	assert.True(t, r.Account.Balanced)
	assert.Equal(t, []report.ErrorClass{
		{Stage: "request", Class: "HTTP 503", Count: 10, Example: "status 503"},
		{Stage: "request", Class: "timeout", Count: 6, Example: "no answer within 3s"},
	}, r.Errors)
}

func TestALateGeneratorIsToldWhatItLacks(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Freeze: fake.Freeze{Nth: 100, For: 500 * time.Millisecond}}
	r := newScript(t, f, "phases: [{duration: 1, arrivalRate: 300}]\nflows: [{name: direct}]", "").run()
	assert.Equal(t, report.Invalid, r.Verdict.Result)
	// 150 requests are due while it stands still, and 16 senders wait for their answers.
	assert.Regexp(t, `the generator was late: .*; (\d{3} requests were due while all senders waited for answers: more senders are needed|`+
		`the hypervisor took \d+ % of this host's CPU meanwhile)`,
		strings.Join(r.Verdict.Reasons, "\n"))
}

// Such a run was green: an empty Trend has a p99 of 0, which is below every threshold.
func TestARunInWhichNothingArrivesIsNotGreen(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Status: func(int) int { return http.StatusUnauthorized }}
	s := newScript(t, f, "phases: [{duration: 1, arrivalRate: 20}]\nflows: [{name: direct}]", "")
	r := s.run()
	assert.Equal(t, report.Invalid, r.Verdict.Result)
	_, reasons, late := verdict(r)
	assert.Equal(t, []string{"no delivery was measured, so there is no latency to judge"}, reasons)
	close(s.samples)
	invalid := 0.0
	for container := range s.samples {
		for _, sample := range container.GetSamples() {
			if sample.Metric.Name == "arrival_invalid" {
				invalid += sample.Value
			}
		}
	}
	assert.InDelta(t, 1+late, invalid, 0, "k6's exit code agrees")
}

func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"INGEST_TOKEN=hunter2":           "INGEST_TOKEN=…",
		"--env=MQTT_PASSWORD=hunter2":    "--env=MQTT_PASSWORD=…",
		"-eAPI_KEY=hunter2":              "-eAPI_KEY=…",
		"MQTT_URL=mqtt://u:hunter2@h":    "MQTT_URL=…",
		"influxdb=http://u:hunter2@h/db": "influxdb=http://…@h/db",
		"ID_KEY=meta.id":                 "ID_KEY=meta.id",
		"RATE=3000":                      "RATE=3000",
		"htp://bob:hunter2@h:1":          "htp://…@h:1",
		"scenarios/ramp.js":              "scenarios/ramp.js",
	} {
		assert.Equal(t, want, mask(word))
	}
}

func TestWordsOfACommandAreQuoted(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"X=a b":       "'X=a b'",
		"NOTE=it's":   `'NOTE=it'\''s'`,
		"":            "''",
		"X=$(reboot)": "'X=$(reboot)'",
		"RATE=3000":   "RATE=3000",
		"MQTT_URL=…":  "MQTT_URL=…",
		"./a-b/c.js":  "./a-b/c.js",
	} {
		assert.Equal(t, want, quote(word))
	}
}

func TestNobodyAtTheIngestIsARejection(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{}
	s := newScript(t, f, "phases: [{duration: 1, arrivalRate: 20}]\nflows: [{name: direct}]", "")
	f.CloseIngest()
	r := s.run()
	assert.Equal(t, 20, r.Account.Rejected)
	assert.Equal(t, "no connection: refused", r.Errors[0].Class)
}

func TestWarmUpIsAccountedForAndNotMeasured(t *testing.T) {
	t.Parallel()
	r := newScript(t, &fake.Pipeline{Delay: 50 * time.Millisecond}, `
phases: [{name: warm-up, duration: 1, arrivalRate: 50, measured: false}, {name: hold, duration: 1, arrivalRate: 30}]
flows: [{name: direct}]`, "").run()
	assert.Equal(t, 80, r.Account.Arrived)
	assert.Equal(t, int64(30), r.Latency.Arrival.Count)
	if r.Health.SocketWait != nil { // Linux
		assert.Equal(t, int64(30), r.Health.SocketWait.Count, "of the same messages as the arrival latency it is weighed against")
	}
	assert.Equal(t, []int{50, 30}, []int{r.Steps[0].Arrived, r.Steps[1].Arrived},
		"a warm-up message that arrives late belongs to the warm-up")
}

// stamps are what a relay on this host writes: 20, 30 and 40 µs from stage to stage.
func stamps(at time.Time) string { return fmt.Sprintf("%d,20,30,40", at.UnixMicro()) }

func TestStampsMeanNothingWithoutTheirClock(t *testing.T) {
	t.Parallel()
	r := newScript(t, &fake.Pipeline{Hops: stamps}, "phases: [{duration: 1, arrivalRate: 20}]\nflows: [{name: direct}]", "").run()
	assert.Equal(t, "monotonic", r.Clock.Reference)
	assert.Zero(t, r.Latency.Stages["queue"].Count)
	assert.Equal(t, int64(20), r.Latency.Arrival.Count)
}

func TestStagesSumToArrival(t *testing.T) {
	t.Parallel()
	r := newScript(t, &fake.Pipeline{Hops: stamps}, steady, fmt.Sprintf("redis: { url: %q }", startRedis(t))).run()
	assert.Equal(t, "redis TIME", r.Clock.Reference)
	sum := 0.0
	for name, s := range r.Latency.Stages {
		require.Equal(t, int64(810), s.Count, name)
		sum += *s.Mean
	}
	assert.InDelta(t, *r.Latency.Arrival.Mean, sum, 0.001, "ms")
	assert.InDelta(t, 0.030, *r.Latency.Stages["queue"].Mean, 1e-9)
}

func TestASubscriberThatDoesNotComeBackEndsTheLoadAndTheRunIsInvalid(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{}
	s := newScript(t, f, "phases: [{duration: 100, arrivalRate: 100}]\nflows: [{name: direct}]", "idle: '300ms', drain: '300ms'")
	f.Copies = func(nth int) int {
		if nth == 50 {
			f.CloseBroker()
		}
		return 1
	}
	began := time.Now()
	r := s.run()
	assert.Less(t, time.Since(began), 60*time.Second, "it does not wait for the end of the schedule")
	assert.Equal(t, report.Invalid, r.Verdict.Result)
	assert.Contains(t, r.Verdict.Reasons[0],
		"a subscriber lost its connection, so the rest of the load was not sent: subscriber 1 did not come back: ")
	assert.True(t, r.Account.Balanced)
	assert.Greater(t, r.Account.Dropped, 1000)
	assert.NotNil(t, r.Run.Ended)
	require.Len(t, r.Health.Gaps, 1)
	assert.Nil(t, r.Health.Gaps[0].ToS)
}

// A script whose senders threw waited until k6's limit, which is longer than the schedule.
func TestAScheduleThatNobodyTakesFromIsAbandoned(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, "phases: [{duration: 100, arrivalRate: 1}]\nflows: [{name: direct}]", "")
	e := s.module.root.engine
	e.epoch = time.Now()
	due := e.epoch.Add(e.pacer.Slot(0).Due)
	assert.False(t, e.abandoned(due.Add(lateLimit)), "it may still be sent")
	assert.True(t, e.abandoned(due.Add(lateLimit+1)))
	e.next.Add(1)
	assert.False(t, e.abandoned(due.Add(lateLimit+1)), "the next one is due later")
	slot := e.pacer.Slot(0)
	e.ledger.Sent(slot, 0)
	hour := due.Add(time.Hour)
	assert.False(t, e.abandoned(hour), "a sender waits for an answer")
	e.ledger.Settle(slot, ledger.Accepted)
	assert.True(t, e.abandoned(hour))
	e.next.Store(int64(e.pacer.Requests()))
	assert.False(t, e.abandoned(hour), "all are taken")
}

func TestAStoppedRunLeavesAnIncompleteReport(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, "phases: [{duration: 60, arrivalRate: 10}]\nflows: [{name: direct}]", "")
	ctx, cancel := context.WithCancel(t.Context())
	e := s.module.root.engine
	sent := make(chan struct{})
	go func() {
		vu := newSender(e, s.state)
		for range 3 {
			vu.send(ctx)
		}
		close(sent)
	}()
	go func() {
		<-sent
		for e.ledger.Deliveries() == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	require.ErrorIs(t, e.collect(ctx, s.state, s.module.metrics), errStopped)
	_, err := s.runtime.VU.Runtime().RunString(`run.summary()`)
	require.NoError(t, err)
	r := s.written()
	assert.Equal(t, report.Incomplete, r.Verdict.Result)
	assert.Nil(t, r.Run.Ended)
	assert.True(t, r.Account.Balanced)
	assert.Positive(t, r.Account.Arrived)
}

// A process that is killed can't write its report, so there is one from the first moment on.
func TestThereIsAReportBeforeTheFirstMessage(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, "phases: [{duration: 60, arrivalRate: 10}]\nflows: [{name: direct}]", "")
	require.NoError(t, os.MkdirAll(s.dir, 0o755))
	e := s.module.root.engine
	e.dir = s.dir
	e.epoch = time.Now()
	rec, err := newRecorder(e)
	require.NoError(t, err)
	defer rec.close()
	assert.Equal(t, report.Incomplete, s.written().Verdict.Result)
	page, err := os.ReadFile(filepath.Join(s.dir, "index.html"))
	require.NoError(t, err)
	shown, err := report.Shown(page)
	require.NoError(t, err)
	assert.Equal(t, e.id, shown.Run.ID)
}

func TestAScriptMaySendByItself(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{}
	s := newScript(t, f, "phases: [{duration: 1, arrivalRate: 5}]\nflows: [{name: pair, messages: 2}]", "id: 'meta.id'")
	e := s.module.root.engine
	done := make(chan error)
	go func() { done <- e.collect(t.Context(), s.state, s.module.metrics) }()
	rt := s.runtime.VU.Runtime()
	require.NoError(t, rt.Set("post", func(path, body string) int {
		answer, err := http.Post(f.IngestURL()+path, "application/json", strings.NewReader(body))
		if err != nil {
			return 0
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}))
	v, err := rt.RunString(`
		var slot, ids = [];
		while ((slot = run.next())) {
			ids.push(...slot.ids);
			if (JSON.parse(slot.body)[1].meta.id !== slot.ids[1]) throw new Error(slot.body);
			run.settle(slot, post(slot.path, slot.body));
		}
		ids.map((id) => id.split('.')[2]).join()`)
	require.NoError(t, err)
	assert.Equal(t, "0,1,2,3,4,5,6,7,8,9", v.String())
	require.NoError(t, <-done)
	assert.Equal(t, 10, e.ledger.Final().Arrived)
	_, err = rt.RunString(`run.settle(null, 200)`)
	assert.ErrorContains(t, err, "run.settle() wants what run.next() returned, once")
}

// Such a run waited until k6's limit, and was incomplete: what was never settled stayed in flight.
func TestARequestThatAScriptDoesNotSettleIsUnknown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		phases, options, reason string
		endIteration            bool
	}{
		"its iteration has ended": {"{duration: 1, arrivalRate: 3}", "timeout: '1h'", "the iteration ended without run.settle(): did it throw? k6's log says it", true},
		"it takes too long":       {"{duration: 1, arrivalRate: 3}", "timeout: '1ms'", "no run.settle() within 1.001s", false},
		"closed model": {"{duration: 60, vus: 1, requests: 3, drain: 60}", "timeout: '1h'",
			"the iteration ended without run.settle(): did it throw? k6's log says it", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t, &fake.Pipeline{}, "phases: ["+c.phases+"]\nflows: [{name: direct}]", "idle: '100ms', "+c.options)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			e := s.module.root.engine
			done := make(chan error)
			go func() { done <- e.collect(ctx, s.state, s.module.metrics) }()
			rt := s.runtime.VU.Runtime()
			iteration, end := context.WithCancel(ctx)
			defer end()
			s.runtime.VU.CtxField = iteration
			_, err := rt.RunString(`var forgotten = run.next()`)
			require.NoError(t, err)
			if c.endIteration {
				end()
			}
			s.runtime.VU.CtxField = ctx
			_, err = rt.RunString(`for (let i = 0; i < 2; i++) run.settle(run.next(), 503)`)
			require.NoError(t, err)
			require.NoError(t, <-done)
			_, err = rt.RunString(`run.settle(forgotten, 202); run.summary()`)
			require.NoError(t, err, "it comes too late, and to nothing")
			r := s.written()
			assert.Equal(t, [3]int{3, 2, 1}, [3]int{r.Account.Scheduled, r.Account.Rejected, r.Account.Unknown})
			assert.True(t, r.Account.Balanced)
			assert.NotNil(t, r.Run.Ended)
			assert.Contains(t, r.Errors, report.ErrorClass{Stage: "request", Class: "not settled", Count: 1, Example: c.reason})
		})
	}
}

// The number that a sender had drawn was missing from the account of a run, which so never settled.
func TestWhatAStoppedSenderHadDrawnIsDropped(t *testing.T) {
	t.Parallel()
	for name, pump := range map[string]bool{"send": false, "pump": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t, &fake.Pipeline{}, "phases: [{pause: 1}, {duration: 1, arrivalRate: 1}]\nflows: [{name: direct}]", "")
			r := s.runWith(1, func(ctx context.Context, e *engine) {
				ctx, stop := context.WithCancel(ctx)
				go func() {
					for e.next.Load() == 0 {
						time.Sleep(time.Millisecond)
					}
					stop()
				}()
				if pump {
					e.pump(ctx, s.state)
				} else {
					assert.False(t, newSender(e, s.state).send(ctx))
				}
			})
			assert.Equal(t, [2]int{1, 1}, [2]int{r.Account.Scheduled, r.Account.Dropped})
			assert.Contains(t, r.Verdict.Reasons, "the generator never sent 1 of 1 messages")
		})
	}
}

func TestTheAccountReachesK6sThresholds(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, steady, "")
	_, _, late := verdict(s.run())
	close(s.samples)
	sums, latencies := map[string]float64{}, 0
	for container := range s.samples {
		for _, sample := range container.GetSamples() {
			if sample.Metric.Name == "arrival_latency" {
				latencies++
			}
			sums[sample.Metric.Name] += sample.Value
		}
	}
	assert.Equal(t, 810, latencies)
	assert.InDelta(t, 300, sums["http_reqs"], 0)
	assert.InDelta(t, 570, sums["arrival_scheduled"], 0)
	assert.InDelta(t, 570, sums["arrival_arrived"], 0)
	assert.InDelta(t, late, sums["arrival_invalid"], 0)
	for _, zero := range []string{"arrival_lost", "arrival_dropped", "http_req_failed"} {
		v, pushed := sums[zero]
		assert.True(t, pushed, zero)
		assert.Zero(t, v, zero)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	rt := modulestest.NewRuntime(t)
	m := New().NewModuleInstance(rt.VU)
	require.NoError(t, rt.VU.Runtime().Set("Run", m.Exports().Named["Run"]))
	const good = `profile: 'phases: [{duration: 1, arrivalRate: 1}]\nflows: [{name: a}]', ingest: {url: 'http://h'}, mqtt: {url: 'mqtt://h'}`
	for options, want := range map[string]string{
		"":                                                         "new Run() wants its options",
		"{" + good + ", sendrs: 3}":                                `unknown option "sendrs"`,
		"{" + good + ", senders: 'x'}":                             "senders is a string, but int is wanted",
		"{" + good + ", senders: 0}":                               "senders 0 is outside 1 to 10000",
		"{" + good + ", timeout: 'x'}":                             `"x" is not a duration`,
		"{" + good + ", name: '../x'}":                             `name "../x" names the run's directory`,
		"{" + good + ", id: 'a..b'}":                               `id "a..b" is not the name of a field`,
		"{" + good + ", mqtt: {url: 'mqtt://h', qos: 3}}":          "mqtt.qos 3 is not 0, 1 or 2",
		"{" + good + ", mqtt: {url: 'mqtt://h', version: '4'}}":    `mqtt.version "4" is neither "5" nor "3.1.1"`,
		"{" + good + ", mqtt: {url: 'mqtt://h', session: 'long'}}": `mqtt.session "long" is neither "clean" nor "persistent"`,
		"{" + good + ", mqtt: {url: 'mqtt://h', session: 'persistent', qos: 0}}":                                             `mqtt.session "persistent" wants mqtt.qos 1 or 2`,
		"{" + good + ", mqtt: {url: 'mqtt://h', topics: 'all'}}":                                                             `mqtt.topics "all" is not "exact", "wildcard" or "shared"`,
		"{" + good + ", mqtt: {url: 'mqtt://h', connections: 33}}":                                                           "mqtt.connections 33 is outside 1 to 32",
		"{" + strings.Replace(good, "name: a", "name: a, deliveries: 2", 1) + ", mqtt: {url: 'mqtt://h', topics: 'shared'}}": `mqtt.topics "shared" delivers each message once, but flow "a" has 2 deliveries`,
		"{" + good + ", inFlight: 0}":                                                                                        "inFlight 0 is outside 1 to 10000",
		"{" + good + ", ingest: {url: 'http://h', retries: -1}}":                                                             "ingest.retries -1 is outside 0 to 100",
		"{" + good + ", clock: {limit: '1ms'}}":                                                                              "clock.limit is set, but there is no clock to hold to it",
		"{" + good + ", redis: {url: 'redis://h'}, clock: {limit: 0}}":                                                       "clock.limit 0: a time above 0 is wanted",
		"{" + good + ", mqtt: {url: 'amqp://h'}}":                                                                            `mqtt.url (MQTT_URL): scheme "amqp" of the MQTT address is not supported`,
		"{" + good + ", redis: {url: 'http://h'}}":                                                                           "redis.url (REDIS_URL): redis: invalid URL scheme: http",
		"{" + good + ", ingest: {url: 'h:1'}}":                                                                               `ingest.url "h:1" is not an address`,
		"{" + good + ", ingest: {url: 'htp://b:p@h'}}":                                                                       `ingest.url "htp://…@h" is not an address`,
		"{" + good + ", ingest: {url: 'http://b:p@h'}}":                                                                      "ingest.url (INGEST_URL) holds a user or a password",
		"{" + good + ", redis: {url: 'redis://u:p%2@h'}}":                                                                    `redis.url (REDIS_URL): invalid URL escape "%2"`,
		"{" + good + ", phases: {x: {duration: 3}}}":                                                                         `profile profile has no phase "x"; it has: phase 1`,
		"{" + good + ", ca: 'ca.pem'}":                                                                                       "ca (TLS_CA) holds no certificate",
		"{" + good + ", mqtt: {url: 'mqtt://h', status: 'status/+/'}}":                                                       `mqtt.status "status/+/" begins the name of a topic`,
		"{profile: ''}": "profile profile is empty",
	} {
		_, err := rt.VU.Runtime().RunString("new Run(" + options + ")")
		assert.ErrorContains(t, err, want, options)
	}
	_, err := rt.VU.Runtime().RunString("new Run({" + good + "}); new Run({" + good + "}); new Run({" + good + ", senders: 3})")
	assert.ErrorContains(t, err, "a second Run with other options")
}

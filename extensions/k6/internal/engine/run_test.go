package engine

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/render"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

func TestEveryMessageArrivesOnce(t *testing.T) {
	t.Parallel()
	r := newScript(t, &fake.Pipeline{}, steady, "").run()
	test.CheckSteady(t, r)
	assert.Equal(t, []int64{210, 300, 300}, []int64{r.Flows[0].Arrived, r.Flows[1].Arrived, r.Flows[2].Arrived})
	assert.Zero(t, r.Latency.Stages["queue"].Count, "no stages without stamps")
	assert.Equal(t, int64(810), r.Latency.Stages["schedule"].Count)
}

func TestARunRecordsItsCommitAndCIJob(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, steady, "")
	wrote := s.run().Environment
	git, ci := gitAndCI() // the same call, since git has a time limit
	expected, err := json.Marshal(map[string]any{"git": git, "ci": ci})
	require.NoError(t, err)
	found, err := json.Marshal(map[string]any{"git": wrote["git"], "ci": wrote["ci"]})
	require.NoError(t, err)
	assert.JSONEq(t, string(expected), string(found))
}

func TestADelayIsPartOfTheArrivalLatency(t *testing.T) {
	t.Parallel()
	const delay = 200
	r := newScript(t, &fake.Pipeline{Delay: delay * time.Millisecond}, steady, "").run()
	assert.GreaterOrEqual(t, *r.Latency.Arrival.Min, float64(delay))
	// No upper limit: a loaded machine adds an unknown delay. The self-test measures the error.
	assert.Less(t, *r.Latency.HTTP.Min, *r.Latency.Arrival.Min, "the answer does not wait for the delivery")
}

func TestEveryLostMessageIsCounted(t *testing.T) {
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
	assert.Equal(t, runfile.Fail, result)
	assert.Equal(t, []string{"lost: 5 of 570 messages were accepted and never arrived"}, reasons)
}

func TestEveryDuplicateIsCounted(t *testing.T) {
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
	assert.Equal(t, int64(300), r.Latency.Arrival.Count, "one sample per message")
}

func TestRejectedAndUnansweredRequestsAreCountedApart(t *testing.T) {
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
	r := newScript(t, f, "phases: [{duration: 1, arrivalRate: 300}]\nflows: [{name: direct}]",
		"timeout: '10s', idle: '2s'").run()
	assert.Equal(t, [3]int{10, 6, 284}, [3]int{r.Account.Rejected, r.Account.Unknown, r.Account.Arrived})
	assert.True(t, r.Account.Balanced)
	assert.Equal(t, []runfile.ErrorClass{
		{Stage: "request", Class: "HTTP 503", Count: 10, Example: "status 503"},
		{Stage: "request", Class: "timeout", Count: 6, Example: "no answer within 10s"},
	}, r.Errors)
}

func TestALateGeneratorNamesItsBottleneck(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Freeze: fake.Freeze{Nth: 100, For: 500 * time.Millisecond}}
	r := newScript(t, f, "phases: [{duration: 1, arrivalRate: 300}]\nflows: [{name: direct}]", "maxSenders: 16").run()
	assert.Equal(t, runfile.Pass, r.Verdict.Result, "no limit depends on it")
	// During the freeze 150 requests fall due, and all 16 senders wait for answers.
	assert.Regexp(t, `the generator was late: .*; ([\d,]+ requests were due while all 16 senders waited for answers|`+
		`the hypervisor took [\d.]+ % of this host's CPU|the host was saturated in)`, strings.Join(r.Verdict.Doubts, "\n"))
}

// Regression: such a run passed, as an empty Trend has a p99 of 0, below every threshold.
func TestARunWithoutArrivalsIsInvalid(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Status: func(int) int { return http.StatusForbidden }}
	s := newScript(t, f, "phases: [{duration: 1, arrivalRate: 20}]\nflows: [{name: direct}]", "")
	r := s.run()
	assert.Equal(t, runfile.Invalid, r.Verdict.Result)
	_, reasons, late := verdict(r)
	require.Len(t, reasons, 3)
	assert.Contains(t, reasons[0],
		"no delivery was measured, so there is no latency to judge; the ingest refused 20 of 20 requests (HTTP 403")
	assert.Equal(t, []string{"rejected: 20 of 20 messages",
		"the ingest refused 20 of 20 requests (HTTP 403: “status 403”)"},
		reasons[1:])
	close(s.samples)
	sums := map[string]float64{}
	for container := range s.samples {
		for _, sample := range container.GetSamples() {
			sums[sample.Metric.Name] += sample.Value
		}
	}
	assert.InDelta(t, 1+late, sums["arrival_invalid"], 0, "k6's exit code agrees")
	assert.InDelta(t, 1e9, sums["arrival_p99"], 0, "ms: above any limit")
}

// Regression: the run sent its whole load and then asked for more cores.
func TestARunEndsEarlyIfTheIngestAnswers401(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Status: func(int) int { return http.StatusUnauthorized }}
	r := newScript(t, f, "phases: [{duration: 600, arrivalRate: 50}]\nflows: [{name: direct}]", "").run()
	assert.Equal(t, runfile.Invalid, r.Verdict.Result)
	assert.Less(t, r.Account.Requests.Sent, 10_000)
	reasons := strings.Join(r.Verdict.Reasons, "\n")
	assert.Regexp(t, `the ingest answered the first \d+ requests with 401, .*INGEST_TOKEN`, reasons)
	assert.NotContains(t, reasons, "more cores")
}

func TestTheReasonNamesAWrongFilter(t *testing.T) {
	t.Parallel()
	for more, want := range map[string]string{
		`filter: "elsewhere/#"`: `mqtt.filter (FILTER) "elsewhere/#" at QoS 1`,
		`prefix: "elsewhere/"`:  `targets behind mqtt.prefix (TOPIC_PREFIX) "elsewhere/" at QoS 1`,
	} {
		s := newScript(t, &fake.Pipeline{}, "phases: [{duration: 1, arrivalRate: 20}]\nflows: [{name: direct}]",
			`mqtt: { url: "BROKER", `+more+` }, idle: 1`)
		assert.Contains(t, strings.Join(s.run().Verdict.Reasons, "\n"), want)
	}
}

func TestRequestsToAStoppedIngestAreRejected(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{}
	s := newScript(t, f, "phases: [{duration: 1, arrivalRate: 20}]\nflows: [{name: direct}]", "")
	f.CloseIngest()
	r := s.run()
	assert.Equal(t, 20, r.Account.Rejected)
	assert.Equal(t, "no connection: refused", r.Errors[0].Class)
}

func TestWarmUpIsCountedButNotMeasured(t *testing.T) {
	t.Parallel()
	r := newScript(t, &fake.Pipeline{Delay: 50 * time.Millisecond}, `
phases: [{name: warm-up, duration: 1, arrivalRate: 50, measured: false}, {name: hold, duration: 1, arrivalRate: 30}]
flows: [{name: direct}]`, "").run()
	assert.Equal(t, 80, r.Account.Arrived)
	assert.Equal(t, int64(30), r.Latency.Arrival.Count)
	assert.Equal(t, int64(30), r.Flows[0].Arrival.Count)
	assert.Equal(t, int64(30), r.Health.Lateness.Count)
	assert.Equal(t, int64(30), r.Health.ArrivalStamps.Kernel+r.Health.ArrivalStamps.Read)
	for _, slow := range r.Messages.Slowest {
		assert.Equal(t, "hold", slow.Phase)
	}
	if r.Health.SocketWait != nil { // Linux
		assert.Equal(t, int64(30), r.Health.SocketWait.Count, "the same messages as the arrival latency")
	}
	assert.Equal(t, []int{50, 30}, []int{r.Steps[0].Arrived, r.Steps[1].Arrived},
		"a late warm-up message belongs to the warm-up")
}

func TestEachFlowHasItsOwnLatency(t *testing.T) {
	t.Parallel()
	distances := map[string]time.Duration{"near": 0, "apart": 150 * time.Millisecond, "far": 300 * time.Millisecond}
	f := &fake.Pipeline{Far: func(target string) time.Duration {
		flow, _, _ := strings.Cut(target, "/")
		return distances[flow]
	}}
	r := newScript(t, f, `
phases: [{duration: 1, arrivalRate: 60}]
flows: [{name: near, target: near, weight: 3}, {name: apart, target: apart, weight: 2}, {name: far, target: far, weight: 1}]`,
		"").run()
	for i, n := range []int64{30, 20, 10} {
		flow := r.Flows[i]
		assert.Equal(t, n, flow.Arrival.Count, flow.Name)
		assert.GreaterOrEqual(t, *flow.Arrival.Min, float64(distances[flow.Name].Milliseconds()), flow.Name)
	}
	assert.Less(t, *r.Flows[0].Arrival.Min, *r.Flows[1].Arrival.Min)
	assert.Less(t, *r.Flows[1].Arrival.Min, *r.Flows[2].Arrival.Min)
}

// Other tools place the seconds by these times.
func TestTheLogHasTheArrivalsOfEachSecond(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{Delay: 300 * time.Millisecond}, `
phases: [{duration: 2, arrivalRate: 50}]
flows: [{name: direct}]`, "")
	r := s.run()
	log, err := runfile.OpenLog(s.dir)
	require.NoError(t, err)
	started, err := time.Parse(time.RFC3339Nano, r.Run.Started)
	require.NoError(t, err)
	for _, second := range r.Timeline {
		found, err := log.At(second.T)
		require.NoError(t, err)
		arrival := found["arrival"]
		if second.Arrived == 0 {
			assert.Nil(t, arrival)
			continue
		}
		require.NotNil(t, arrival, "second %d", second.T)
		assert.Equal(t, second.Arrived, arrival.TotalCount(), "second %d", second.T)
		begins := started.Add(time.Duration(second.T) * time.Second).UnixMilli()
		assert.Equal(t, []int64{begins, begins + 1000}, []int64{arrival.StartTimeMs(), arrival.EndTimeMs()})
	}
}

// Regression: a threshold on k6's Trend passed although the report's p99 was above the limit, as
// the Trend includes the warm-up.
func TestThresholdsUseTheReportsP99(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{Freeze: fake.Freeze{Nth: 10, For: 300 * time.Millisecond}}, `
phases: [{name: warm-up, duration: 1, arrivalRate: 50, measured: false}, {name: hold, duration: 1, arrivalRate: 30}]
flows: [{name: direct}]`, "")
	r := s.run()
	close(s.samples)
	var judged []float64
	slowest := 0.0
	for container := range s.samples {
		for _, sample := range container.GetSamples() {
			switch sample.Metric.Name {
			case "arrival_p99":
				judged = append(judged, sample.Value)
			case "arrival_latency":
				slowest = max(slowest, sample.Value)
			}
		}
	}
	assert.Equal(t, 64, *r.Run.Profile.Flows[0].PayloadBytes)
	require.NotNil(t, r.Latency.Arrival.P99)
	assert.Equal(t, []float64{*r.Latency.Arrival.P99}, judged)
	assert.GreaterOrEqual(t, slowest, 200.0, "ms, in the warm-up")
}

// stamps returns the hops of a relay on this host: 20, 30 and 40 µs from stage to stage.
func stamps(at time.Time) string { return fmt.Sprintf("%d,20,30,40", at.UnixMicro()) }

func TestStampsAreIgnoredWithoutTheirClock(t *testing.T) {
	t.Parallel()
	r := newScript(t, &fake.Pipeline{Hops: stamps}, "phases: [{duration: 1, arrivalRate: 20}]\nflows: [{name: direct}]",
		"").run()
	assert.Equal(t, "monotonic", r.Clock.Reference)
	assert.Zero(t, r.Latency.Stages["queue"].Count)
	assert.Equal(t, int64(20), r.Latency.Arrival.Count)
}

func TestStagesSumToArrival(t *testing.T) {
	t.Parallel()
	r := newScript(t, &fake.Pipeline{Hops: stamps}, steady, fmt.Sprintf("redis: { url: %q }", test.Redis(t))).run()
	assert.Equal(t, "redis TIME", r.Clock.Reference)
	sum := 0.0
	for name, s := range r.Latency.Stages {
		require.Equal(t, int64(810), s.Count, name)
		sum += *s.Mean
	}
	assert.InDelta(t, *r.Latency.Arrival.Mean, sum, 0.001, "ms")
	assert.InDelta(t, 0.030, *r.Latency.Stages["queue"].Mean, 1e-9)
}

func TestTheAccountIsPushedAsK6Metrics(t *testing.T) {
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

func TestCustomBodiesAndFiltersAreSupported(t *testing.T) {
	t.Parallel()
	r := newScript(t, &fake.Pipeline{}, `
phases: [{name: steady, duration: 1, arrivalRate: 50}]
flows: [{name: own, target: devices, targets: 1}]`,
		"body: `{\"MsgID\":\"{{id}}\",\"target\":\"{{target}}\"}`, mqtt: { url: 'BROKER', filter: 'messages/devices/0' }").run()
	result, reasons, _ := verdict(r)
	assert.Equal(t, runfile.Pass, result, reasons)
	assert.Equal(t, 50, r.Account.Arrived)
	assert.Contains(t, render.Text(r, "", render.Screen{}), "request to delivery as one: the pipeline sends no stamps")
}

package facts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

// slow is a run of ten seconds that is above its limit, with these stages (ms) of its slowest deliveries.
func slow(times map[string]float64, change ...func(*runfile.Run)) *runfile.Run {
	whole := 0.0
	for _, ms := range times {
		whole += ms
	}
	r := &runfile.Run{
		Stages: stages.Default(),
		Tail:   &runfile.Tail{MeanMS: whole, StagesMS: times},
		Steps: []runfile.Step{{Name: "warm-up", Requests: 90_000, DurationS: 1, Latency: httpMean(900)},
			{Name: "hold", Measured: true, Requests: 10_000, DurationS: 10, Latency: httpMean(1)}},
		Environment: map[string]any{"shared_host": false},
		Verdict: runfile.Verdict{Result: runfile.Fail, Rules: []runfile.Rule{{Name: runfile.P99Rule, OK: new(false),
			Result: runfile.Fail, Unit: "ms"}}},
		Scene: &runfile.Scene{InFlight: 256},
	}
	for _, one := range change {
		one(r)
	}
	return r
}

func httpMean(ms float64) runfile.Latencies {
	return runfile.Latencies{HTTP: runfile.Latency{Mean: &ms}}
}

func text(t *testing.T, r *runfile.Run) string {
	t.Helper()
	b := bottleneck(r)
	require.NotNil(t, b)
	return b.Text
}

func TestTheBottleneckIsTheStageThatTookMostOfTheSlowDeliveries(t *testing.T) {
	t.Parallel()
	assert.Equal(t, &runfile.Bottleneck{Stage: "queue", Text: "queue"},
		bottleneck(slow(map[string]float64{"schedule": 0.2, "request": 2, "queue": 90})))
	assert.Equal(t, "request", text(t, slow(map[string]float64{"schedule": 0.2, "request": 200, "queue": 90})))
}

func TestARunThatRefusesMessagesIsLimitedByItsIngest(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "ingest, which refused messages",
		text(t, slow(map[string]float64{"queue": 9}, func(r *runfile.Run) { r.Account.Rejected = 5 })))
	refusing := golden(t, "refusing")
	Conclude(refusing, "")
	require.NotNil(t, refusing.Facts.Bottleneck)
	assert.Equal(t, "ingest", refusing.Facts.Bottleneck.Stage)
}

func TestALateGeneratorIsNoBottleneckOfThePipeline(t *testing.T) {
	t.Parallel()
	late := map[string]float64{"schedule": 90, "request": 4, "queue": 3}
	assert.Equal(t, "schedule: the generator, not the pipeline", text(t, slow(late)))
	assert.Equal(t, "schedule: the generator, which shares its cores with the pipeline; of the pipeline request",
		text(t, slow(late, func(r *runfile.Run) { r.Environment["shared_host"] = true })))
}

func TestAGeneratorWhoseSendersAllWaitedIsLateForTheRequests(t *testing.T) {
	t.Parallel()
	late := map[string]float64{"schedule": 90, "request": 2, "queue": 3}
	waiting := slow(late, func(r *runfile.Run) { r.Steps[1].Latency = httpMean(250) })
	assert.Equal(t, "request", bottleneck(waiting).Stage)
	waiting.Scene = nil
	assert.Equal(t, "schedule: the generator, or answers that its senders waited for", text(t, waiting),
		"it is not known how many requests may be in flight")
}

func TestARunThatHeldItsLimitsHasNoBottleneck(t *testing.T) {
	t.Parallel()
	times := map[string]float64{"queue": 90}
	for name, change := range map[string]func(*runfile.Run){
		"held":             func(r *runfile.Run) { r.Verdict.Rules[0].OK = new(true) },
		"undecided":        func(r *runfile.Run) { r.Verdict.Rules[0].OK, r.Verdict.Rules[0].Undecided = nil, true },
		"another limit":    func(r *runfile.Run) { r.Verdict.Rules[0].Name = "lost" },
		"a doubt":          func(r *runfile.Run) { r.Verdict.Rules[0].Result = runfile.Doubtful },
		"a limit on HTTP":  func(r *runfile.Run) { r.Verdict.Rules[0].Name = "http_req_duration p(99)" },
		"it has no limits": func(r *runfile.Run) { r.Verdict.Rules = nil },
	} {
		assert.Nil(t, bottleneck(slow(times, change)), name)
	}
	for _, name := range []string{"arrival_within_250ms", "backlog_growth", runfile.TrendRule} {
		r := slow(times, func(r *runfile.Run) { r.Verdict.Rules[0].Name = name })
		assert.NotNil(t, bottleneck(r), name)
	}
}

// Regression: a run without stamps was "mostly schedule", where schedule was 0.45 ms of 1,124 ms.
func TestStagesThatCoverLittleOfTheTimeNameNoBottleneck(t *testing.T) {
	t.Parallel()
	r := slow(map[string]float64{}, func(r *runfile.Run) {
		r.Tail = nil
		r.Latency.Arrival.Mean = new(955.0)
		r.Latency.Stages = map[string]runfile.Latency{"schedule": {Mean: new(1.61)}}
	})
	assert.Nil(t, bottleneck(r))
	r.Latency.Stages["queue"] = runfile.Latency{Mean: new(900.0)}
	assert.Equal(t, "queue", bottleneck(r).Stage, "without a tail, by the means of all deliveries")
}

// The verdict of a slow run says which stage it was, with its share and the cause.
func TestTheAnswerOfASlowRunNamesStageShareAndCause(t *testing.T) {
	t.Parallel()
	by := func(times map[string]float64, change ...func(*runfile.Run)) string {
		return slowBy(slow(times, change...))
	}
	waiting := map[string]float64{"request": 10, "queue": 90}
	assert.Equal(t, "Queue took 90 % of the time of the slowest 1 %: messages waited for a free relay.", by(waiting))
	assert.Equal(t, "Queue took 90 % of the time of the slowest 1 %: more came than the relay carried.",
		by(waiting, func(r *runfile.Run) {
			for second := range 10 {
				r.Timeline = append(r.Timeline, runfile.Interval{T: second, Arrived: 10, Backlog: 100 * second})
			}
		}))
	assert.Regexp(t, "^Schedule took 90 % .*: the generator, not the pipeline\\.$",
		by(map[string]float64{"schedule": 90, "request": 10}))
	assert.Regexp(t, "^Schedule and request took 92 % .*: all senders waited for answers\\.$",
		by(map[string]float64{"schedule": 90, "request": 2, "queue": 8},
			func(r *runfile.Run) { r.Steps[1].Latency = httpMean(250) }))
	full := func(r *runfile.Run) {
		idle := make([]*float64, 6)
		host := &runfile.Figures{BinS: 1, Gauges: map[string][]*float64{"id": idle}}
		for second := range idle {
			idle[second], host.T = new(1.0), append(host.T, second)
		}
		r.Resources = []runfile.Resource{{Process: "host", Figures: host}}
	}
	assert.Contains(t, by(waiting, full), "; the host was saturated from 0:00 to 0:06.")
	// Regression: a run that also refused messages named the ingest, with < 0.01 % of the time.
	assert.Regexp(t, "^Queue took 90 %", by(waiting, func(r *runfile.Run) { r.Account.Rejected = 5 }))
	assert.Empty(t, by(waiting, func(r *runfile.Run) { r.Verdict.Rules[0].OK = new(true) }), "it held its limit")
}

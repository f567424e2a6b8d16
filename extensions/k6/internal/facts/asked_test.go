package facts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// limitsAt are thresholds of a script, as rules of a verdict.
func limitsAt(limits map[string]float64) (rules []runfile.Rule) {
	for name, limit := range limits {
		rules = append(rules, runfile.Rule{Name: name, Op: "<", Limit: &limit, OK: new(true), Result: runfile.Fail})
	}
	return rules
}

// lateGenerator is a broken rule that may have lengthened the arrival latency.
var lateGenerator = runfile.Rule{Name: "lateness", OK: new(false), Result: runfile.Doubtful,
	Doubts: []runfile.Doubt{{Claim: runfile.ArrivalClaim, Direction: runfile.TooHigh}}}

// burstAnswer is the answer about a burst of 5,000 requests/s for 10 s, a minute before the end.
func burstAnswer(f runfile.Recovery, more ...runfile.Rule) string {
	r := &runfile.Run{}
	r.Run.Profile.Phases = []runfile.Phase{
		{Name: "before", DurationS: 20, ArrivalRate: new(200.0)},
		{Name: "spike", DurationS: 10, ArrivalRate: new(5000.0)},
		{Name: "after", DurationS: 60, ArrivalRate: new(200.0)},
	}
	r.Verdict.Rules = append(limitsAt(map[string]float64{drainRule: 30, backRule: 45}), more...)
	f.Phase = "spike"
	r.Facts.Question, r.Facts.Recovery = &runfile.Question{Kind: runfile.Recovering}, &f
	return asked(r)
}

func TestTheAnswerAboutABurstHasEachFigureBesideItsLimit(t *testing.T) {
	t.Parallel()
	all := runfile.Recovery{PeakBacklog: 900, CalmBacklog: new(0), DrainedS: new(2.0), CalmP99MS: new(5.0),
		BackS: new(3.0), Arrived99S: new(9.9)}
	assert.Regexp(t, `5,000 requests/s for 10 s .* 2 s \(limit 30 s\).* 3 s \(limit 45 s\).* 9.9 s`, burstAnswer(all))
	assert.Regexp(t, `did not drain within 1 min.* not back within 1 min.*Less than 99 %`,
		burstAnswer(runfile.Recovery{PeakBacklog: 900, CalmBacklog: new(0), CalmP99MS: new(5.0)}))
	assert.Regexp(t, `backlog has no second before it`, burstAnswer(runfile.Recovery{CalmP99MS: new(5.0)}))
	at := runfile.Recovery{PeakBacklog: 900, CalmBacklog: new(0), DrainedS: new(0.0), CalmP99MS: new(5.0),
		BackS: new(0.0), Arrived99S: new(9.9)}
	assert.Regexp(t, `had drained at its end.*back at once`, burstAnswer(at))
	// Regression: requests waited for the ingest, and "the backlog had drained at its end".
	at.PeakBacklog = 1
	assert.Regexp(t, `no backlog behind the ingest \(limit 30 s\); p99 was back at once`, burstAnswer(at))
}

func TestTheTimesOfABurstFromALateGeneratorAreInDoubt(t *testing.T) {
	t.Parallel()
	all := runfile.Recovery{PeakBacklog: 900, CalmBacklog: new(0), DrainedS: new(2.0), CalmP99MS: new(5.0),
		BackS: new(3.0), Arrived99S: new(9.9)}
	assert.Regexp(t, "in about 2 s .*after about 3 s .*arrived at most 9.9 s", burstAnswer(all, lateGenerator))
	assert.NotRegexp(t, "at most|about", burstAnswer(all))
}

// steadyAnswer is the answer about 24 s at 50 requests/s in two phases.
func steadyAnswer(grewMS, mostMB *float64, more ...runfile.Rule) string {
	r := &runfile.Run{}
	r.Run.Profile.Phases = []runfile.Phase{
		{DurationS: 5, ArrivalRate: new(10.0)},
		{DurationS: 12, ArrivalRate: new(50.0), Measured: true}, {DurationS: 12, ArrivalRate: new(50.0), Measured: true},
	}
	r.Verdict.Rules = append(limitsAt(map[string]float64{driftRule: 50, growthRule: 32}), more...)
	r.Facts.LoadFacts = runfile.LoadFacts{Question: &runfile.Question{Kind: runfile.Steadiness},
		Drift: &runfile.Drift{GrewMS: grewMS}, Memory: &runfile.Memory{MostGrewMB: mostMB}}
	return asked(r)
}

// Regression: "0.007 h at 50/s".
func TestTheAnswerAboutASteadyLoadSaysTheLoadAndWhatGrew(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "Over 24 s at 50 requests/s, p99 grew by 0.412 ms from the second quarter to the last (limit 50 ms), "+
		"and memory grew by 3 MB at most (limit 32 MB).", steadyAnswer(new(0.4123), new(3.0)))
	assert.Regexp(t, `p99 fell by 0.400 ms .*no process grew \(limit 32 MB\)`, steadyAnswer(new(-0.4), new(0.0)))
	assert.Contains(t, steadyAnswer(new(0.4), new(0.0), lateGenerator), "grew by about 0.400 ms")
}

func TestTheAnswerAboutASteadyLoadSaysWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	assert.Contains(t, steadyAnswer(nil, new(3.0)), "too few messages arrived for a p99")
	assert.Contains(t, steadyAnswer(new(1.0), nil), "did not report its memory")
}

func TestTheAnswerAboutConnectionsNamesTheCanary(t *testing.T) {
	t.Parallel()
	r := &runfile.Run{Canary: &runfile.Canary{Sent: 30, Latency: runfile.Latency{P99: new(4.2)}}}
	r.Verdict.Rules = limitsAt(map[string]float64{canaryRule: 50})
	r.Facts.Question = &runfile.Question{Kind: runfile.OfConnections}
	c := &runfile.Connections{Wanted: 15_000, Held: 14_990, Brokers: 1, During: runfile.Span{FromS: 94, ToS: 124}}
	r.Facts.Connections = c
	assert.Equal(t, "The broker held 14,990 of 15,000 connections for 30 s, with canary p99 4.20 ms (limit 50 ms).",
		asked(r))
	c.Brokers, r.Canary.Latency.P99 = 3, nil
	assert.Regexp(t, "^3 brokers .*no canary arrived", asked(r))
	r.Canary = nil
	assert.NotContains(t, asked(r), "canary")
}

func TestTheAnswerAboutSessionsHasTheLatencyOfTheirMessages(t *testing.T) {
	t.Parallel()
	r := &runfile.Run{Steps: []runfile.Step{{Requests: 90_000, DurationS: 30}}}
	r.Facts.Question = &runfile.Question{Kind: runfile.OfSessions, SessionsPerS: 300, Calls: 10, Seconds: 30}
	r.Facts.Sessions = &runfile.Sessions{Begun: 8_990, Completed: 8_985}
	r.Facts.Sessions = sessions(r)
	assert.Equal(t, 10, r.Facts.Sessions.Missing)
	assert.InDelta(t, 299.5, r.Facts.Sessions.PerS, 0.001)
	assert.InDelta(t, 3000, r.Facts.Sessions.RequestsPerS, 0)
	assert.Equal(t, "300 sessions/s of 10 calls sent 3,000 requests/s.", asked(r))
	r.Latency.Arrival = runfile.Latency{Count: 3000, P50: new(0.612), P99: new(5.67), Max: new(9.0)}
	assert.Regexp(t, `, with arrival p50 0.612 ms and p99 5.67 ms\.$`, asked(r))
	r.Latency.Arrival.Count = 99
	assert.Regexp(t, ` and max 9.00 ms\.$`, asked(r))
}

func TestClientsAreComparedByWhatTheyCarried(t *testing.T) {
	t.Parallel()
	r := golden(t, "throughput")
	f := clients(r)
	require.NotNil(t, f)
	require.Len(t, f.Steps, 4)
	assert.Equal(t, 4, f.Most.Clients)
	assert.InDelta(t, r.Steps[3].CarriedPerS, f.Most.PerS, 0)
	assert.InDelta(t, f.Steps[1].PerS/2, f.Steps[1].EachS, 1e-9)
	r.Facts.Question = nil
	assert.Nil(t, clients(r), "nobody asks")
}

func TestConnectionsAreCountedOverAllInstances(t *testing.T) {
	t.Parallel()
	r := golden(t, "connections")
	r.Figures = nil
	for instance := range 2 {
		for name, n := range map[string]float64{runfile.FigureWanted: 450, runfile.FigureHeld: 440, runfile.FigureLost: 1} {
			r.Figures = append(r.Figures, runfile.Figure{Name: name, Value: &n, Generator: instance + 1})
		}
	}
	c := connections(r)
	assert.Equal(t, []int{900, 880, 2, 22}, []int{c.Wanted, c.Held, c.Lost, c.Missing})
	assert.Len(t, c.Costs, 3, "two generators and a broker")
}

func TestAllConnectionsAreHeldFromTheFirstPhaseAfterTheyAreOpen(t *testing.T) {
	t.Parallel()
	phases := []runfile.Phase{{DurationS: 6}, {DurationS: 30}}
	assert.Equal(t, runfile.Span{FromS: 6, ToS: 36}, HeldDuring(phases, 900, 150))
	assert.Equal(t, runfile.Span{FromS: 6, ToS: 36}, HeldDuring(phases, 60, 100), "the phase is longer than it takes")
	assert.Equal(t, runfile.Span{FromS: 10, ToS: 36}, HeldDuring(phases, 100, 10))
}

package facts

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// check is a row of the instrument.
func check(t *testing.T, r *runfile.Run, what string) runfile.Check {
	t.Helper()
	rows := checks(r)
	at := slices.IndexFunc(rows, func(row runfile.Check) bool { return row.What == what })
	require.GreaterOrEqual(t, at, 0, "no row %s", what)
	return rows[at]
}

func checkNames(r *runfile.Run) (names []string) {
	for _, row := range checks(r) {
		names = append(names, row.What)
	}
	return names
}

func rule(t *testing.T, r *runfile.Run, name string) *runfile.Rule {
	t.Helper()
	found := ruleOf(r, name)
	require.NotNil(t, found, name)
	return found
}

func TestAPassingRunHoldsEveryLimitOnTheInstrument(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	assert.Equal(t, []string{"lateness", "CPU", "dropped", "socket wait", "canary", "gaps", "discarded", "negative",
		"clock bound"}, checkNames(r))
	for _, row := range checks(r) {
		if row.Limit != "" {
			assert.Equal(t, new(true), row.OK, row.What)
			assert.Empty(t, row.Doubts, row.What)
		}
	}
}

func TestAFigureIsHeldAgainstTheRuleOfTheVerdict(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	assert.Equal(t, "≤ 2.00 ms", check(t, r, "lateness").Limit)
	own := rule(t, r, "lateness")
	own.Limit, own.OK, own.Basis = new(5.0), new(false), "so it is"
	row := check(t, r, "lateness")
	assert.Equal(t, []any{"≤ 5.00 ms", "so it is", new(false)}, []any{row.Limit, row.Basis, row.OK})
	assert.Equal(t, "none", check(t, r, "dropped").Limit)
}

func TestABrokenRuleSaysWhatItPutsInDoubt(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	own := rule(t, r, "lateness")
	own.OK = new(false)
	own.Doubts = []runfile.Doubt{{Claim: runfile.ArrivalClaim, Direction: runfile.TooHigh},
		{Claim: runfile.RequestsClaim, Direction: runfile.Either}}
	assert.Equal(t, "puts in doubt: arrival, too high; HTTP, in either direction", check(t, r, "lateness").Doubts)
	own.Doubts, own.Result = nil, runfile.Invalid
	assert.Equal(t, "puts everything in doubt", check(t, r, "lateness").Doubts)
}

func TestTheOfferedLoadHasARow(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	r.Verdict.Rules = append(r.Verdict.Rules, runfile.Rule{Name: "offered", Value: new(97.5), Op: ">=", Limit: new(99.0),
		Unit: "%", OK: new(false), Part: runfile.Sending, Result: runfile.Doubtful, Basis: "of each phase",
		Doubts: []runfile.Doubt{{Claim: runfile.LoadClaim, Direction: runfile.TooHigh}}})
	row := check(t, r, "offered")
	assert.Regexp(t, "^9[78] %$", row.Figure)
	assert.Regexp(t, "^≥ 99(.0)? %$", row.Limit)
	assert.Equal(t, "puts in doubt: load, too high", row.Doubts)
}

func TestAMergedRunHasTheSumOfTheLimitsOnCounts(t *testing.T) {
	t.Parallel()
	r := golden(t, "three")
	sum := 0.0
	for _, rule := range r.Verdict.Rules {
		if rule.Name == "negative" {
			sum += *rule.Limit
		}
	}
	assert.Contains(t, check(t, r, "negative").Limit, runfile.Rule{Op: "<=", Limit: &sum, Unit: "deliveries"}.LimitText())
}

func TestOfSeveralInstancesTheOneThatBrokeTheRuleIsShown(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	one := *rule(t, r, "lateness")
	two := one
	one.Generator, two.Generator, two.Limit, two.OK = 1, 2, new(3.0), new(false)
	r.Verdict.Rules = []runfile.Rule{one, two}
	assert.Equal(t, "≤ 3.00 ms", check(t, r, "lateness").Limit)
	assert.Equal(t, new(false), check(t, r, "lateness").OK)
}

func TestTheSocketWaitSaysHowArrivalsWereStamped(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	r.Health.ArrivalStamps = runfile.ArrivalStamps{Kernel: 166_702, Read: 72}
	assert.Regexp(t, "^166,702 arrivals by the kernel’s stamp, 72 by the read; .*p50 ", check(t, r, "socket wait").More)
	r.Health.SocketWait = nil
	assert.Regexp(t, "72 by the read$", check(t, r, "socket wait").More)
	assert.Equal(t, "not available", check(t, r, "socket wait").Figure)
}

func TestTheMaximumStandsForAP99OfTooFewSamples(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	r.Health.Lateness.Count, r.Health.Lateness.Max = 99, new(0.5)
	assert.Equal(t, "max 0.500 ms", check(t, r, "lateness").Figure)
}

func TestNoFigureIsJudgedBeforeTheFirstSample(t *testing.T) {
	t.Parallel()
	r := golden(t, "started")
	assert.Equal(t, "no sample yet", check(t, r, "socket wait").Figure)
	for _, row := range checks(r) {
		assert.Nil(t, row.OK, row.What)
	}
}

func TestTheCPUFigureCountsTheBusySeconds(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	r.Timeline = r.Timeline[:40]
	for i := range r.Timeline {
		r.Timeline[i].Generator = runfile.Usage{CPUPercent: new(180.0), RSSMB: new(100.0)}
	}
	r.Timeline[0].Generator.CPUPercent = new(181.0)
	rule(t, r, "cpu").Value = new(3.0)
	row := check(t, r, "CPU")
	assert.Equal(t, "mean 180 %, too busy in 3 of 40 s", row.Figure)
	assert.Equal(t, "max 181 %; memory at most 100 MB", row.More)
}

func TestTheGapsHaveTheirLength(t *testing.T) {
	t.Parallel()
	r := golden(t, "gap")
	assert.Equal(t, "1.4 s in all", check(t, r, "gaps").More)
	r.Health.Gaps = append(r.Health.Gaps, runfile.Gap{FromS: 5})
	assert.Equal(t, "1.4 s in all; 1 without end", check(t, r, "gaps").More)
	assert.Equal(t, "1 sample in 10", check(t, r, "k6’s Trend").Figure)
}

func TestTheClosedModelHasNoLateness(t *testing.T) {
	t.Parallel()
	assert.NotContains(t, checkNames(golden(t, "closed")), "lateness")
}

func TestAnUnbalancedAccountHidesTheTimesOfTheInstrument(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(checks(golden(t, "unbalanced")))
	require.NoError(t, err)
	assert.NotRegexp(t, `\bp\d\d|\d ms`, string(text))
}

func TestABrokenRuleWithoutARowGetsOne(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	pauses := runfile.Rule{Name: "long_pauses", Value: new(3.0), Op: "<=", Limit: new(0.0), Unit: "pauses", OK: new(false),
		Result: runfile.Invalid, Part: runfile.Receiving}
	held := pauses
	held.Name, held.OK = "short_pauses", new(true)
	r.Verdict.Rules = append(r.Verdict.Rules, pauses, held)
	assert.Equal(t, "3 pauses", check(t, r, "long pauses").Figure)
	assert.NotContains(t, checkNames(r), "short pauses")
}

// Regression: the verdict said that the hypervisor took 19 %, and a finding of the same report 20.9 %.
func TestTheHypervisorHasOneFigure(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	r.Environment["shared_host"] = true
	for i := range r.Timeline {
		r.Timeline[i].Generator.StealPercent = new(19.0)
	}
	steal := resource(t, r, "host").Figures.Gauges["st"]
	for i := range steal {
		steal[i] = new(20.9)
	}
	Conclude(r, "")
	assert.Equal(t, "mean 19.0 %", check(t, r, "hypervisor").Figure)
	assert.InDelta(t, 19, *r.Facts.Host.StealMeanPercent, 1e-9)
	f := found(r, "hypervisor")
	require.Len(t, f, 1)
	assert.Regexp(t, `took 19 % .* 19 % in the worst`, f[0].Text)
}

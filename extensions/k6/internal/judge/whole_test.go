package judge

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// instances returns the whole and the parts of a run of 300 requests by three instances. A nil
// change leaves the instance out.
func instances(changes ...func(r *runfile.Run)) (*runfile.Run, []*runfile.Run) {
	whole := run(func(r *runfile.Run) { r.Account = runfile.Account{Balanced: true} })
	var parts []*runfile.Run
	segments := []string{"0:1/3", "1/3:2/3", "2/3:1"}
	for i, segment := range segments {
		g := runfile.Instance{Number: i + 1, Segment: segment, Result: runfile.Missing}
		if change := changes[i]; change != nil {
			part := run(change)
			part.Run.Generator = &runfile.Generator{Number: i + 1, Of: 3, Segment: segment}
			part.Account.Requests.Scheduled += 100
			g.Result = part.Verdict.Result
			whole.Account.Balanced = whole.Account.Balanced && part.Account.Balanced
			whole.Account.Requests.Scheduled += part.Account.Requests.Scheduled
			whole.Account.Duplicates += part.Account.Duplicates
			parts = append(parts, part)
		}
		whole.Generators = append(whole.Generators, g)
	}
	return whole, parts
}

// withVerdict returns a change that sets an instance's verdict.
func withVerdict(result string, reasons ...string) func(r *runfile.Run) {
	return func(r *runfile.Run) { r.Verdict = runfile.Verdict{Result: result, Reasons: reasons} }
}

var passes = withVerdict(runfile.Pass)

// together returns the verdict on the whole of three instances.
func together(changes ...func(r *runfile.Run)) runfile.Verdict {
	whole, parts := instances(changes...)
	return OfParts(whole, parts, 300)
}

func TestAMergedRunPassesIfAllPartsPass(t *testing.T) {
	t.Parallel()
	v := together(passes, passes, passes)
	assert.Equal(t, runfile.Verdict{Result: runfile.Pass, Reasons: []string{}, Rules: []runfile.Rule{},
		Doubts: []string{}}, v)
}

func TestAMissingOrCutOffPartMakesTheWholeIncomplete(t *testing.T) {
	t.Parallel()
	cut := func(r *runfile.Run) {
		withVerdict(runfile.Incomplete, "cut off at 0:02 of 0:10")(r)
		r.Run.Ended, r.Timeline = nil, []runfile.Interval{{T: 0}, {T: 1}}
	}
	v := together(withVerdict(runfile.Invalid, "the generator was late"), nil, cut)
	assert.Equal(t, runfile.Incomplete, v.Result)
	assert.Equal(t, []string{
		"generator 2 of 3 (1/3:2/3) is missing, and what it sent is not in the account",
		"generator 3 of 3 (2/3:1) was cut off: its account ends after 2 s, with 100 messages",
		"generator 1: the generator was late",
	}, v.Reasons, "the deciding reasons come first")
	assert.Equal(t, []string{"finished"}, broken(v))
}

func TestPartsThatDoNotAddUpInvalidateTheWhole(t *testing.T) {
	t.Parallel()
	less := func(r *runfile.Run) { passes(r); r.Account.Requests.Scheduled-- }
	v := together(passes, passes, less)
	assert.Equal(t, runfile.Invalid, v.Result)
	assert.Equal(t, []string{"the parts have 299 requests together, and the profile has 300"}, v.Reasons)
	assert.Equal(t, []string{"requests"}, broken(v))

	odd := func(r *runfile.Run) { passes(r); r.Account.Balanced = false }
	v = together(passes, passes, odd)
	assert.Equal(t, runfile.Invalid, v.Result)
	assert.Equal(t, []string{"the account does not balance"}, v.Reasons)

	whole, parts := instances(passes, passes, less)
	assert.Equal(t, runfile.Pass, OfParts(whole, parts, 0).Result, "the closed model has no planned number of requests")
}

func TestAPartWithoutReasonsStillDecides(t *testing.T) {
	t.Parallel()
	for _, result := range []string{runfile.Fail, runfile.Invalid, runfile.Incomplete} {
		v := together(passes, withVerdict(result), passes)
		assert.Equal(t, result, v.Result)
		assert.Equal(t, []string{"generator 2: " + result}, v.Reasons)
	}
}

// withRule returns a change that makes an instance pass with rule.
func withRule(rule runfile.Rule, change func(r *runfile.Run)) func(r *runfile.Run) {
	return func(r *runfile.Run) {
		passes(r)
		r.Verdict.Rules = []runfile.Rule{rule}
		if change != nil {
			change(r)
		}
	}
}

func TestALimitUnjudgedByOnePartMakesTheWholeIncomplete(t *testing.T) {
	t.Parallel()
	rule := runfile.Rule{Name: "m", Value: new(1.0), Op: "<", Limit: new(2.0), OK: new(true), Result: runfile.Fail}
	open := rule
	open.OK = nil
	v := together(withRule(rule, nil), withRule(open, nil), withRule(rule, nil))
	assert.Equal(t, runfile.Incomplete, v.Result)
	assert.Equal(t, []string{"generator 2: not judged: m < 2"}, v.Reasons)
	of := []int{}
	for _, r := range v.Rules {
		of = append(of, r.Generator)
	}
	assert.Equal(t, []int{1, 2, 3}, of, "each keeps its rules: only k6 has this metric, so it has no whole")
}

func TestLimitsAreJudgedForTheWhole(t *testing.T) {
	t.Parallel()
	rule := runfile.Rule{Name: "arrival_duplicates", Value: new(4.0), Op: "<", Limit: new(10.0), Unit: "messages",
		OK: new(true), Result: runfile.Fail}
	four := withRule(rule, func(r *runfile.Run) { r.Account.Duplicates = 4 })
	v := together(four, four, four)
	assert.Equal(t, runfile.Fail, v.Result)
	assert.Equal(t, []string{"arrival_duplicates 12 messages, limit < 10 messages"}, v.Reasons)
	assert.Equal(t, runfile.Rule{
		Name: "arrival_duplicates", Value: new(12.0), Op: "<", Limit: new(10.0), Unit: "messages", OK: new(false),
		Result: runfile.Fail,
		Reason: "arrival_duplicates 12 messages, limit < 10 messages",
	}, v.Rules[3])
	assert.Equal(t, runfile.Pass, together(four, four, withRule(rule, nil)).Result)
	assert.Nil(t, together(four, four, nil).Rules[3].OK, "unknown while an instance is missing")

	// each has 4 ms, the whole has 10 ms
	p99 := func(ok *bool) func(r *runfile.Run) { return withRule(limit(4, ok), nil) }
	assert.Equal(t, []string{"arrival p99 10 ms, limit < 5 ms"},
		together(p99(new(true)), p99(new(true)), p99(new(true))).Reasons)
	whole, parts := instances(p99(new(true)), p99(new(true)), p99(new(true)))
	whole.Latency.Arrival = runfile.Latency{}
	v = OfParts(whole, parts, 300)
	assert.Equal(t, runfile.Incomplete, v.Result)
	assert.Equal(t, []string{"not judged: arrival_p99 < 5 ms"}, v.Reasons)
}

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// Regression: where a script's own scenario ended before the load, the answer asked for more cores.
func TestTheAnswerNamesSendersThatEndEarly(t *testing.T) {
	t.Parallel()
	script := making + `
export const options = { scenarios: { subscriber: run.scenarios().subscriber,
  sender: { executor: 'shared-iterations', vus: 2, iterations: 5, exec: 'sender' } } };
export function subscriber() { run.collect(); }
export function sender() { run.send(); }
export const handleSummary = run.summary;`
	r := runScript(t, test.Start(t, &fake.Pipeline{}), script)
	assert.Equal(t, markedAsFailed, r.code, r.output)
	answer := test.Run(t, r.dir).Answer.Sentence
	assert.Contains(t, answer, "of 50 requests")
	assert.Contains(t, answer, "scenario")
	assert.NotContains(t, answer, "cores")
}

// Regression: k6's objects as thresholds of arrival.within() ended with 104.
func TestWithinLimitsAsObjects(t *testing.T) {
	t.Parallel()
	for limit, want := range map[string]struct {
		code int
		says string
	}{
		"[{ threshold: '>= 0%', abortOnFail: true, delayAbortEval: '1s' }]": {0, "PASS"},
		"[{ threshold: '> 100%' }]":                                         {99, "arrival within 1µs"},
		"[{ threshold: '>= 99' }]":                                          {107, "has no % behind its share"},
		"'>= 99%'":                                                          {107, "is not a list"},
	} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			script := making +
				"export const options = { scenarios: run.scenarios(), thresholds: run.thresholds({ 'arrival.within(1us)': " +
				limit + " }) };\n" +
				"export function sender() { run.send(); }\nexport function subscriber() { run.collect(); }\nexport const handleSummary = run.summary;\n"
			r := runScript(t, test.Start(t, &fake.Pipeline{}), script)
			if want.code == 0 && r.code == 99 { // a busy machine makes the run invalid
				assert.Contains(t, r.output, "INVALID")
				return
			}
			assert.Equal(t, want.code, r.code, r.output)
			assert.Contains(t, r.output, want.says)
		})
	}
}

// long is a script whose load lasts longer than k6 lets it. limits are its thresholds.
func long(limits string) string {
	return native("given.profile = 'phases: [{duration: 600, arrivalRate: 50}]\\nflows: [{name: one}]';\n") +
		"Object.assign(options, { thresholds: run.thresholds(" + limits + ") });\n"
}

// Regression: such a run was incomplete, "run it again", its limit was not judged, and this module's own limits never
// ended a run.
func TestALimitWithAbortOnFailFailsTheRun(t *testing.T) {
	t.Parallel()
	refusing := func(int) int { return 503 }
	for name, c := range map[string]struct {
		limits string
		status func(int) int
		rule   string
	}{
		"arrival's p99": {"{ arrival_p99: [{ threshold: 'value<5', abortOnFail: true }] }", nil, "arrival_p99"},
		"k6's metric": {"{ arrival_latency: [{ threshold: 'p(99)<5', abortOnFail: true, delayAbortEval: '1s' }] }", nil,
			"arrival_latency p(99)"},
		"within":           {"{ 'arrival.within(5ms)': [{ threshold: '>= 99%', abortOnFail: true }] }", nil, "arrival_within_5ms"},
		"requests":         {"{ http_req_failed: [{ threshold: 'rate<0.01', abortOnFail: true }] }", refusing, "http_req_failed rate"},
		"a built-in limit": {"{ arrival_rejected: [{ threshold: 'count==0', abortOnFail: true }] }", refusing, "rejected"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := runScript(t, test.Start(t, &fake.Pipeline{Delay: time.Second, Status: c.status}), long(c.limits))
			assert.Equal(t, 99, r.code, r.output)
			assert.Contains(t, r.output, "at least one has abortOnFail enabled")
			run := test.Run(t, r.dir)
			assert.Equal(t, runfile.Fail, run.Verdict.Result, run.Verdict.Reasons)
			var broken []string
			for _, rule := range run.Verdict.Rules {
				if rule.IsBroken() && rule.Value != nil {
					broken = append(broken, rule.Name)
				}
			}
			assert.Equal(t, []string{c.rule}, broken)
			assert.Contains(t, run.Verdict.Reasons[0], "abortOnFail")
		})
	}
}

// Regression: the report of a run that its script aborted said neither that nor why.
func TestAScriptThatAbortsItsTestIsSaidToHave(t *testing.T) {
	t.Parallel()
	script := "import { test } from 'k6/execution';\n" +
		strings.Replace(long("{}"), "run.send();", "if (!run.send()) {} test.abort('stop at the first');", 1)
	r := runScript(t, test.Start(t, &fake.Pipeline{}), script)
	assert.Equal(t, 108, r.code, r.output)
	run := test.Run(t, r.dir)
	assert.Equal(t, runfile.Incomplete, run.Verdict.Result)
	assert.Contains(t, run.Verdict.Reasons[0], "stop at the first")
	assert.Contains(t, r.output, "stop at the first")
}

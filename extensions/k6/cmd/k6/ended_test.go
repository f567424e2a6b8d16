package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
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
			script := making + "export const options = { scenarios: run.scenarios(), thresholds: run.thresholds({ 'arrival.within(1us)': " + limit + " }) };\n" +
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

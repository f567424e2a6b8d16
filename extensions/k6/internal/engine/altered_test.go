package engine

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// alterations are how a message may be altered on its way. All leave its id as it was.
var alterations = map[string]func(body []byte) []byte{
	"cut":      func(b []byte) []byte { return b[:len(b)-8] },
	"prefixed": func(b []byte) []byte { return append([]byte("\x00\x01"), b...) },
	"changed": func(b []byte) []byte {
		b[bytes.LastIndexByte(b, 'x')] = 'y' // the last x is in the payload: a run's id may have one too
		return b
	},
}

const payloads = "phases: [{duration: 1, arrivalRate: 120}]\nflows: [{name: direct, payloadBytes: 32}, {name: batch, messages: 5, payloadBytes: 8}]"

// Regression: a third of the messages arrived altered, and the run passed.
func TestAlteredMessagesHaveAnEndOfTheirOwn(t *testing.T) {
	t.Parallel()
	for name, alter := range alterations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake.Pipeline{Rewrite: func(nth int, body []byte) []byte {
				if nth%3 != 0 {
					return body
				}
				return alter(slices.Clone(body))
			}}
			r := newScript(t, f, payloads, "verify: 1, idle: '2s', drain: 10").run()
			a := r.Account
			broken := func(rule runfile.Rule) bool { return rule.Name == "altered" && rule.OK != nil && !*rule.OK }
			assert.True(t, slices.ContainsFunc(r.Verdict.Rules, broken),
				"a busy machine may add that the generator was late")
			assert.Equal(t, 360/3, a.Altered)
			assert.Equal(t, []any{360, 240, 0, 0, true}, []any{a.Scheduled, a.Arrived, a.Lost, a.Foreign, a.Balanced})
			assert.Equal(t, 120, a.Deliveries.Missing)
		})
	}
}

// The length of every message is compared, the bytes of one in a hundred: here the first, and one of each full hundred
// behind it.
func TestOneInAHundredIsCompared(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"cut": 360, "changed": 3} {
		f := &fake.Pipeline{Rewrite: func(_ int, body []byte) []byte { return alterations[name](slices.Clone(body)) }}
		r := newScript(t, f, payloads, "idle: '2s', drain: 10").run()
		assert.Equal(t, want, r.Account.Altered, "%s: %+v %v %v", name, r.Account, r.Verdict.Reasons, r.Errors)
	}
}

// Regression: every hundredth message was compared, and those are all of one flow, or of one target.
func TestNoFlowEscapesTheComparison(t *testing.T) {
	t.Parallel()
	const two = "phases: [{duration: 1, arrivalRate: 400}]\nflows: [{name: one, target: one}, {name: other, target: other}]"
	for _, target := range []string{`"one/`, `"other/`, `/7"`} {
		f := &fake.Pipeline{Rewrite: func(_ int, body []byte) []byte {
			if !bytes.Contains(body, []byte(target)) {
				return body
			}
			return alterations["changed"](slices.Clone(body))
		}}
		account := newScript(t, f, two, "verify: 10, idle: '3s', drain: 10, everyFlow: { targets: 10 }, ").run().Account
		assert.NotZero(t, account.Altered, "%s: %+v", target, account)
	}
}

func TestAPipelineThatRewritesMessagesSaysSo(t *testing.T) {
	t.Parallel()
	wrapped := func(_ int, body []byte) []byte { return slices.Concat([]byte(`{"data":`), body, []byte(`}`)) }
	r := newScript(t, &fake.Pipeline{Rewrite: wrapped}, payloads, "verify: 'off'").run()
	assert.Equal(t, []int{360, 0}, []int{r.Account.Arrived, r.Account.Altered})
}

func TestVerifyIsRefusedUnlessItIsANumberOrOff(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{`1`: true, `"1"`: true, `"off"`: true, `""`: true, `0`: false, `"-1"`: false,
		`"on"`: false, `1.5`: false, `true`: false} {
		var v verifyOption
		assert.Equal(t, ok, v.UnmarshalJSON([]byte(text)) == nil, text)
	}
}

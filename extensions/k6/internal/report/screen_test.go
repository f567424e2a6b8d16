package report

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAReasonThatTheAnswerHoldsIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer  string
		reasons []string
		further []string
	}{
		{"Not usable: the clock is wrong.", []string{"The clock is wrong.", "late"}, []string{"late"}},
		{"78,751 of 89,300 messages did not arrive (78,751 rejected).", []string{"rejected: 78,751 messages"}, []string{}},
		{"Arrival p99 4,020 ms is above the limit of 250 ms.", []string{"arrival p99 4,020 ms, limit < 250 ms"}, []string{}},
		{"Held 5 messages/s with arrival p99 4,020 ms.", []string{"arrival p99 4,020 ms, limit < 250 ms"},
			[]string{"arrival p99 4,020 ms, limit < 250 ms"}},
		{"", nil, []string{}},
	} {
		r := &Run{Verdict: Verdict{Reasons: c.reasons}, Answer: Answer{Sentence: c.answer}}
		assert.Equal(t, c.further, r.FurtherReasons(), c.answer)
	}
}

package facts

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
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
		{"6,221 of 24,000 messages did not arrive (6,221 rejected).", []string{"rejected: 6,221 of 24,000 messages"},
			[]string{}},
		{"", nil, []string{}},
	} {
		r := &runfile.Run{Verdict: runfile.Verdict{Reasons: c.reasons}, Answer: runfile.Answer{Sentence: c.answer}}
		assert.Equal(t, c.further, furtherReasons(r), c.answer)
	}
}

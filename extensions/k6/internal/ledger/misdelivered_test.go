package ledger

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

func TestAMessageCountsForWhomItWasDue(t *testing.T) {
	t.Parallel()
	own, other, nobody := Arrival{At: epoch + 500, Target: 1}, Arrival{At: epoch + 500, Target: 2},
		Arrival{At: epoch + 500, Target: NotHeld}
	anywhere := Arrival{At: epoch + 500}
	for name, c := range map[string]struct {
		deliveries [2][]Arrival // deliveries to each subscriber
		fan        bool
		want       Account
	}{
		"at its own":                   {[2][]Arrival{{own}}, false, Account{Arrived: 1}},
		"where it came is not known":   {[2][]Arrival{{anywhere}}, false, Account{Arrived: 1}},
		"at another":                   {[2][]Arrival{{other}}, false, Account{Misdelivered: 1, Misdeliveries: 1}},
		"at another, twice":            {[2][]Arrival{{other, other}}, false, Account{Misdelivered: 1, Misdeliveries: 2}},
		"where nobody holds it":        {[2][]Arrival{{nobody}}, false, Account{Misdelivered: 1, Misdeliveries: 1}},
		"at another, then its own":     {[2][]Arrival{{other, own}}, false, Account{Arrived: 1, Misdeliveries: 1}},
		"at its own, then another":     {[2][]Arrival{{own, other}}, false, Account{Arrived: 1, Misdeliveries: 1}},
		"at its own, twice":            {[2][]Arrival{{own, own}}, false, Account{Arrived: 1, Duplicates: 1}},
		"one of two at another":        {[2][]Arrival{{own}, {other}}, true, Account{Misdelivered: 1, Misdeliveries: 1}},
		"both, and a copy for another": {[2][]Arrival{{own}, {other, own}}, true, Account{Arrived: 1, Misdeliveries: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := flow(1, 1)
			if c.fan {
				of = flow(1, 2)
			}
			of.Targets = 2
			for _, outcome := range []Outcome{Accepted, Rejected, Unknown} {
				for _, early := range []bool{false, true} {
					a := delivered(t, of, outcome, early, c.deliveries)
					assert.Equal(t, c.want, Account{Arrived: a.Arrived, Misdelivered: a.Misdelivered, Lost: a.Lost,
						Duplicates: a.Duplicates, Misdeliveries: a.Misdeliveries}, "%v %v", outcome, early)
				}
			}
		})
	}
}

func TestAMisdeliveredMessageIsNamedWithWhereItCame(t *testing.T) {
	t.Parallel()
	l := newRun(t, 1, 1, profile.Flow{Name: "a", Weight: 1, Target: "user", Targets: 3, Messages: 1, Deliveries: 1})
	l.Sent(l.pacer.Slot(0), epoch+100)
	l.Settle(l.pacer.Slot(0), Accepted)
	l.Arrive(0, []Arrival{{At: epoch + 500, Target: 3}}, nil)
	m := l.Messages()
	assert.Equal(t, []Misplaced{{Seq: 0, Phase: 0, Subscriber: 0, Target: 3}}, m.Misplaced)
	assert.Equal(t, EndMisdelivered, m.Missing[0].End)
	assert.True(t, l.Find(0, Queued), "a relay may not have acknowledged it yet")
	assert.Equal(t, 1, l.Final().Misdelivered)
	assert.Zero(t, l.Strangers())
}

package ledger

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

func TestAnAlteredMessageIsAlteredUnlessItAlsoArrivesWhole(t *testing.T) {
	t.Parallel()
	whole, altered := Arrival{At: epoch + 500}, Arrival{At: epoch + 500, Altered: true}
	one, both := flow(1, 1), flow(1, 2)
	for name, c := range map[string]struct {
		deliveries [2][]Arrival // deliveries to each subscriber
		fan        bool
		want       Account
	}{
		"altered":                   {[2][]Arrival{{altered}}, false, Account{Altered: 1}},
		"altered twice":             {[2][]Arrival{{altered, altered}}, false, Account{Altered: 1}},
		"altered, then whole":       {[2][]Arrival{{altered, whole}}, false, Account{Arrived: 1}},
		"whole, then altered":       {[2][]Arrival{{whole, altered}}, false, Account{Arrived: 1, Duplicates: 1}},
		"altered for one of two":    {[2][]Arrival{{whole}, {altered}}, true, Account{Altered: 1}},
		"altered for both":          {[2][]Arrival{{altered}, {altered}}, true, Account{Altered: 1}},
		"nothing for one of two":    {[2][]Arrival{{altered}}, true, Account{Altered: 1}},
		"whole for both, at last":   {[2][]Arrival{{altered, whole}, {whole}}, true, Account{Arrived: 1}},
		"nothing for either":        {[2][]Arrival{}, true, Account{Lost: 1}},
		"whole for one, of two due": {[2][]Arrival{{whole}}, true, Account{Lost: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := one
			if c.fan {
				of = both
			}
			for _, early := range []bool{false, true} {
				a := delivered(t, of, Accepted, early, c.deliveries)
				assert.Equal(t, c.want, Account{Arrived: a.Arrived, Altered: a.Altered, Lost: a.Lost,
					Duplicates: a.Duplicates}, early)
			}
		})
	}
}

// delivered is the account of a run of one message, after these deliveries to each subscriber. early: they come before
// another process reports that it has sent the message.
func delivered(t *testing.T, of profile.Flow, outcome Outcome, early bool, deliveries [2][]Arrival) Account {
	t.Helper()
	l := newRun(t, 1, 1, of)
	l.AwaitSending()
	send := func() { l.Sent(l.pacer.Slot(0), epoch+100); l.Settle(l.pacer.Slot(0), outcome) }
	if !early {
		send()
	}
	for subscriber, arrivals := range deliveries {
		l.Arrive(subscriber, arrivals, nil)
	}
	if early {
		send()
	}
	a := l.balanced()
	assert.Zero(t, a.Foreign)
	return a
}

// A relay may not have acknowledged the message yet.
func TestAnAlteredMessageThatIsStillInTheQueueIsAltered(t *testing.T) {
	t.Parallel()
	l := newRun(t, 1, 1, flow(1, 1))
	l.Sent(l.pacer.Slot(0), epoch+100)
	l.Settle(l.pacer.Slot(0), Rejected)
	l.Arrive(0, []Arrival{{At: epoch + 500, Altered: true}}, nil)
	assert.True(t, l.Find(0, Queued))
	a := l.Final()
	assert.Equal(t, []int{1, 0, 0}, []int{a.Altered, a.Queued, a.Rejected})
	assert.True(t, a.Balanced)
}

package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// looked is a look of a drain: how long after its beginning, and what was there.
type looked struct {
	after            time.Duration
	deliveries, open int
	over             bool
}

func TestADrainEnds(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, looks := range map[string][]looked{
		"soon after everything has arrived": {
			{0, 9, 0, false}, {20 * ms, 9, 0, false}, {40 * ms, 9, 0, false}, {60 * ms, 9, 0, false},
			{80 * ms, 9, 0, false}, {249 * ms, 9, 0, false}, {250 * ms, 9, 0, true},
		},
		"not while duplicates come": {
			{0, 9, 0, false}, {20 * ms, 9, 0, false}, {40 * ms, 9, 0, false}, {60 * ms, 9, 0, false},
			{80 * ms, 9, 0, false}, {300 * ms, 10, 0, false},
		},
		"after the idle time": {
			{0, 8, 1, false}, {20 * ms, 8, 1, false}, {40 * ms, 8, 1, false}, {60 * ms, 8, 1, false},
			{80 * ms, 8, 1, false}, {999 * ms, 8, 1, false}, {1000 * ms, 8, 1, true},
		},
		"not by elapsed time alone": {{0, 8, 1, false}, {2000 * ms, 8, 1, false}}, // the process was suspended
		"at its limit": {
			{0, 1, 9, false}, {1000 * ms, 2, 8, false}, {2000 * ms, 3, 7, false}, {3000 * ms, 4, 6, true},
		},
	} {
		d := newDrain(&Options{Idle: seconds(time.Second), Drain: seconds(3 * time.Second)})
		began := time.Now()
		for _, l := range looks {
			assert.Equal(t, l.over, d.over(began.Add(l.after), l.deliveries, l.open), "%s, %s", name, l.after)
		}
	}
}

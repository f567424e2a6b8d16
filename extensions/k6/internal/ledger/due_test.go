package ledger

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheDeliveriesOfADueSecondAreCountedByBin(t *testing.T) {
	t.Parallel()
	var d dueSeconds
	d.add(2_500_000, 1000)
	d.add(2_999_999, 1_000_000) // arrived in a later second
	d.add(2_000_000, 10)        // a lower bin than the first
	d.add(2_000_000, 0)
	d.add(2_000_000, -5)
	d.add(-1, 1000) // due before the start
	l := &Ledger{dues: d}
	assert.Nil(t, l.DueBins(0))
	assert.Nil(t, l.DueBins(7))
	bins := l.DueBins(2)
	counts := map[int64]int64{}
	for i, n := range bins[1:] {
		if n > 0 {
			counts[bins[0]+int64(i)] = n
		}
	}
	assert.Equal(t, map[int64]int64{0: 2, 10: 1, 30: 1, 60: 1}, counts)
}

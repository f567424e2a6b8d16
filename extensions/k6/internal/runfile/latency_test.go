package runfile

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
)

// Regression: p99 of 160 deliveries, two of them slow (1.25 %), was that of the fast ones, so arrival_p99 < 250 held
// while 98.75 % arrived within 250 ms.
func TestThePercentilesRankIsRoundedUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ fast, slow int }{{158, 2}, {98, 1}, {990, 11}, {99, 1}, {198, 2}, {199, 1}} {
		var s ledger.Series
		s.AddMany(20_000, c.fast)
		s.AddMany(400_000, c.slow)
		l := NewLatency(&s, true)
		within := *l.Within(250 * time.Millisecond)
		assert.Equal(t, within >= 0.99, *l.P99 < 250, "%d of %d are slow", c.slow, c.fast+c.slow)
		assert.Equal(t, *l.P99 < 250, *NewQuantiles(&s).P99 < 250)
	}
}

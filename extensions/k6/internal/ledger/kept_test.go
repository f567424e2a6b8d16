package ledger

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheNewestOfEveryNthDeliveryAreKept(t *testing.T) {
	t.Parallel()
	none := keeper{}
	none.note(Kept{Seq: 0})
	assert.Empty(t, none.rows)

	k := keeper{every: 10, most: 3, seen: make([]int, 2)}
	for seq := range 60 {
		k.note(Kept{Seq: seq, Phase: seq / 30, Arrived: int64(seq)})
	}
	assert.ElementsMatch(t, []Kept{{30, 1, 0, 30}, {40, 1, 0, 40}, {50, 1, 0, 50}}, k.rows)
	assert.Equal(t, []int{3, 3}, k.seen)
}

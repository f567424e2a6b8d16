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
	assert.ElementsMatch(t, []Kept{{Seq: 30, Phase: 1, Arrived: 30}, {Seq: 40, Phase: 1, Arrived: 40},
		{Seq: 50, Phase: 1, Arrived: 50}}, k.rows)
	assert.Equal(t, []int{3, 3}, k.seen)
}

package hops

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The relay writes the stamps that this package reads, so both share these vectors.
func TestParseAgreesWithTheRelay(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../../../reports/contract/hops.vectors.json")
	require.NoError(t, err)
	var vectors []struct {
		Name, Hops string
		Stamps     []int64
		Error      bool
	}
	require.NoError(t, json.Unmarshal(data, &vectors))
	require.NotEmpty(t, vectors)
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse([]byte(v.Hops))
			if v.Error {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, Of(v.Stamps...), got)
		})
	}
}

func TestMoveMovesEveryStamp(t *testing.T) {
	t.Parallel()
	assert.Equal(t, Of(11, 22, 33), Of(1, 2, 3).Move(func(at int64) int64 { return 10 * at }))
}

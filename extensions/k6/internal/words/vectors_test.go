package words

import (
	"encoding/json"
	"math"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The page and the scripts print the same, so all share these vectors.
func TestNumbersAreWrittenAsThePageWritesThem(t *testing.T) {
	t.Parallel()
	of := map[string]func(t *testing.T, given json.RawMessage) string{
		"count":    one(func(n int) string { return Count(n) }),
		"ms":       one(func(value float64) string { return MS(&value) }),
		"figure":   one(func(value float64) string { return Figure(&value) }),
		"exact":    one(Exact),
		"share":    one(Percent),
		"change":   one(Change),
		"duration": one(Duration),
		"moment":   one(func(s float64) string { return Moment(time.Duration(s * float64(time.Second))) }),
		"against": func(t *testing.T, given json.RawMessage) string {
			t.Helper()
			var value, limit *float64
			var unit string
			require.NoError(t, json.Unmarshal(given, &[]any{&value, &limit, &unit}))
			return Against(value, limit, unit)
		},
		"rate": func(t *testing.T, given json.RawMessage) string {
			t.Helper()
			var perSecond float64
			var things string
			require.NoError(t, json.Unmarshal(given, &[]any{&perSecond, &things}))
			return Rate(perSecond, things)
		},
	}
	data, err := os.ReadFile("../../../../reports/contract/words.vectors.json")
	require.NoError(t, err)
	var vectors map[string][][2]json.RawMessage
	require.NoError(t, json.Unmarshal(data, &vectors))
	delete(vectors, "change_against") // comparisons alone show it, in TypeScript
	assert.Len(t, vectors, len(of))
	for name, write := range of {
		assert.NotEmpty(t, vectors[name], name)
		for _, v := range vectors[name] {
			var want string
			require.NoError(t, json.Unmarshal(v[1], &want))
			assert.Equal(t, want, write(t, v[0]), "%s of %s", name, v[0])
		}
	}
}

// one reads the one argument of write from a vector.
func one[T any](write func(T) string) func(t *testing.T, given json.RawMessage) string {
	return func(t *testing.T, given json.RawMessage) string {
		t.Helper()
		var value T
		require.NoError(t, json.Unmarshal(given, &value))
		return write(value)
	}
}

func TestWhatIsNotKnownIsNoNumber(t *testing.T) {
	t.Parallel()
	for _, value := range []*float64{nil, new(math.NaN()), new(math.Inf(1))} {
		assert.Equal(t, None, MS(value))
		assert.Equal(t, None, Figure(value))
		assert.Equal(t, None, WithUnit(value, "ms"))
		assert.Equal(t, None, Against(value, new(1.0), "%"))
	}
	for _, write := range []func(float64) string{Percent, Change, Duration, PerSecond} {
		assert.Equal(t, None, write(math.NaN()))
	}
	assert.Equal(t, "14.4 ms", Against(new(14.4), nil, "ms"))
}

package segment

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/lib"
)

// unequal divides a run into a half, a third and a sixth.
const unequal = "0,1/2,5/6,1"

var unequalParts = []string{"0:1/2", "1/2:5/6", "5/6:1"}

func segmentOf(t *testing.T, one, all string) Segment {
	t.Helper()
	s, err := Read([]string{"k6", "run", Flag, one, SequenceFlag + "=" + all, "script.js"})
	require.NoError(t, err)
	return s
}

func TestASegmentIsReadFromTheCommandLine(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"run", "script.js"}, {Flag, "0:1", SequenceFlag, "0,1"}} {
		s, err := Read(flags)
		require.NoError(t, err)
		assert.True(t, s.Alone(), "a single instance")
	}
	assert.Equal(t, "generator 2 of 3", segmentOf(t, unequalParts[1], unequal).String())
	for want, flags := range map[string][]string{
		"--execution-segment and --execution-segment-sequence say which instance this is": {Flag, "1/3"},
		"--execution-segment 0:x: ":                      {Flag, "0:x", SequenceFlag, "0,1/2,1"},
		"couldn't find segment 0:1/3 in sequence 0,1/2,": {Flag, "0:1/3", SequenceFlag, "0,1/2,1"},
	} {
		_, err := Read(flags)
		assert.ErrorContains(t, err, want)
	}
}

// Regression: k6 divides a scenario's VUs among the instances, and two of three got no subscriber.
func TestUnscaleCompensatesForK6sDivision(t *testing.T) {
	t.Parallel()
	vus, iterations := 0, 0
	shared := map[int]int{}
	for _, one := range unequalParts {
		s := segmentOf(t, one, unequal)
		for n := 1; n < 30; n++ {
			assert.Equal(t, n, s.Scale(s.Unscale(n)))
			if n > 1 {
				assert.Equal(t, n-1, s.Scale(s.Unscale(n)-1), "Unscale returns the smallest number")
			}
			assert.Equal(t, n, s.ScaleShared(s.UnscaleShared(n, s.Unscale(7)), s.Unscale(7)))
		}
		vus += s.Scale(64)
		iterations += s.Scale(1001)
		for vus := 1; vus < 30; vus++ {
			own := s.ScaleShared(1001, vus)
			assert.Equal(t, s.Scale(vus) > 0, own > 0, "an instance with VUs has requests")
			shared[vus] += own
		}
	}
	assert.Equal(t, []int{64, 1001}, []int{vus, iterations})
	for vus, requests := range shared {
		assert.Equal(t, 1001, requests, vus)
	}
}

// Regression: a segment in a script's options gave an instance senders but no subscriber.
func TestASegmentFromElsewhereIsRefused(t *testing.T) {
	t.Parallel()
	here := segmentOf(t, unequalParts[1], unequal)
	other := segmentOf(t, unequalParts[0], unequal)
	in := func(s Segment) lib.Options {
		return lib.Options{
			ExecutionSegment: s.tuple.Segment, ExecutionSegmentSequence: &s.tuple.Sequence.ExecutionSegmentSequence,
		}
	}
	require.NoError(t, here.InEffect(in(here)))
	require.NoError(t, Whole().InEffect(lib.Options{}))
	for _, err := range []error{Whole().InEffect(in(here)), here.InEffect(in(other)), here.InEffect(lib.Options{})} {
		assert.ErrorContains(t, err, "has to be set on k6's command line")
	}
}

func TestASingleInstanceHasEverything(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {Flag, "0:1", SequenceFlag, "0,1"}} {
		s, err := Read(args)
		require.NoError(t, err)
		assert.True(t, s.Alone())
		assert.Equal(t, []any{1, 1, "run"}, []any{s.Number(), s.Of(), s.Name("run")})
		assert.Nil(t, s.Describe(1, 2))
		for _, n := range []int{0, 1, 2, 7, 64, 1001} {
			assert.Equal(t, []int{n, n}, []int{s.Scale(n), s.Unscale(n)})
			for _, vus := range []int{1, 2, 64} {
				assert.Equal(t, []int{n, n}, []int{s.ScaleShared(n, vus), s.UnscaleShared(n, vus)})
			}
		}
	}
}

package facts

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// process makes runs whose latencies have a level that lasts: the logarithm of a second's level is autoregressive.
type process struct {
	memory, level, noise float64 // autocorrelation, and standard deviations of the logarithm
	perSecond            int
}

const processMedianUS = 2000

// p99US is the true p99.
func (p process) p99US() float64 {
	return processMedianUS * math.Exp(2.32635*math.Hypot(p.level, p.noise))
}

// run is a run of so many seconds: its histogram, and its counts by bin and second.
func (p process) run(seed uint64, seconds int) (*hdrhistogram.Histogram, [][]int64) {
	random := rand.New(rand.NewPCG(seed, 1))
	h, all := ledger.NewHistogram(), make([][]int64, seconds)
	level := random.NormFloat64()
	for t := range all {
		level = p.memory*level + math.Sqrt(1-p.memory*p.memory)*random.NormFloat64()
		all[t] = make([]int64, 1+ledger.BinOf(ledger.Highest)+1) // from bin 0 on
		for range p.perSecond {
			us := int64(processMedianUS * math.Exp(p.level*level+p.noise*random.NormFloat64()))
			_ = h.RecordValue(us)
			all[t][1+ledger.BinOf(us)]++
		}
	}
	return h, all
}

func (p process) interval(seed uint64, seconds int) *report.P99Interval {
	h, bins := p.run(seed, seconds)
	return intervalOf(quantileOf(h), bins)
}

// coverage is the share of the intervals that hold the true p99, and how many of the runs have one.
func (p process) coverage(runs, seconds int) (covers float64, known int) {
	held := 0
	truth := p.p99US() / 1000
	for seed := range runs {
		if i := p.interval(uint64(seed), seconds); i != nil {
			known++
			if i.LowMS <= truth && truth <= i.HighMS {
				held++
			}
		}
	}
	return float64(held) / float64(known), known
}

func TestTheIntervalHoldsTheTrueP99(t *testing.T) {
	t.Parallel()
	const runs = 300
	for name, p := range map[string]process{
		"independent deliveries": {0, 0, 0.3, 100},
		"independent seconds":    {0, 0.2, 0.3, 100},
		"seconds alike":          {0.5, 0.2, 0.3, 100},
	} {
		covers, known := p.coverage(runs, 120)
		t.Logf("%s: %.3f of %d", name, covers, known)
		assert.GreaterOrEqual(t, covers, 0.93, name)
		assert.Greater(t, known, runs/2, name)
	}
}

func TestSecondsThatAreAlikeMakeTheIntervalWider(t *testing.T) {
	t.Parallel()
	width := func(memory float64) (sum float64) {
		for seed := range uint64(20) {
			i := process{memory, 0.2, 0.3, 100}.interval(seed, 300)
			require.NotNil(t, i)
			sum += i.HighMS - i.LowMS
		}
		return sum
	}
	assert.Greater(t, width(0.5), 1.2*width(0))
}

func TestARunThatIsTooShortHasNoInterval(t *testing.T) {
	t.Parallel()
	assert.Nil(t, process{0, 0.2, 0.3, 100}.interval(1, blocksLeast-1))
	nearlyOneLevel := process{0.99, 0.5, 0.1, 100}
	for seed := range uint64(10) {
		assert.Nil(t, nearlyOneLevel.interval(seed, 60), "its seconds are too much alike")
	}
}

func TestTheIntervalSaysWhatItIsMadeOf(t *testing.T) {
	t.Parallel()
	h, seconds := process{0, 0.2, 0.3, 100}.run(1, 120)
	i := intervalOf(quantileOf(h), seconds)
	require.NotNil(t, i)
	p99 := float64(valueAt(h, 0.99)) / 1000
	assert.Less(t, i.LowMS, p99)
	assert.Greater(t, i.HighMS, p99)
	assert.InDelta(t, 0.95, i.Level, 0)
	assert.Equal(t, []int64{12_000, 120}, []int64{i.Samples, int64(i.Seconds)})
	assert.GreaterOrEqual(t, i.Blocks, blocksLeast)
	assert.LessOrEqual(t, i.Blocks*i.BlockS, i.Seconds)
	assert.GreaterOrEqual(t, i.Inflated, 1.0)
}

func TestALongRunIsDividedInBlocksOfWholeSeconds(t *testing.T) {
	t.Parallel()
	i := process{0, 0.2, 0.3, 20}.interval(1, 3*pointsMost+1)
	require.NotNil(t, i)
	assert.Equal(t, 3*pointsMost+1, i.Seconds)
	assert.Zero(t, i.BlockS%4, "seconds are put together by four")
	assert.LessOrEqual(t, i.Blocks*i.BlockS, i.Seconds)
}

func TestTheIntervalOfARunIsThatOfItsHistogramAndSeconds(t *testing.T) {
	t.Parallel()
	h, seconds := process{0, 0.2, 0.3, 100}.run(1, 120)
	encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	require.NoError(t, err)
	r := &report.Run{Steps: []report.Step{{DurationS: 5}, {StartS: 5, DurationS: 120, Measured: true}}}
	r.Latency.Arrival = report.Latency{Count: h.TotalCount(), Histogram: new(string(encoded))}
	for range 5 { // warm-up
		r.Timeline = append(r.Timeline, report.Interval{T: len(r.Timeline)})
	}
	for _, bins := range seconds {
		r.Timeline = append(r.Timeline, report.Interval{T: len(r.Timeline), DueBins: bins})
	}
	assert.Equal(t, intervalOf(quantileOf(h), seconds), NewInterval(r))
	r.Latency.Arrival.Histogram = nil
	r.Latency.Arrival.Curve = report.NewLatency(&ledger.Series{Histogram: h, Count: h.TotalCount(), Max: h.Max()}, false).Curve
	curved := NewInterval(r)
	assert.InEpsilon(t, intervalOf(quantileOf(h), seconds).LowMS, curved.LowMS, 0.01)
	assert.InEpsilon(t, intervalOf(quantileOf(h), seconds).HighMS, curved.HighMS, 0.03)
	for i := range r.Timeline {
		r.Timeline[i].DueBins = nil
	}
	assert.Nil(t, NewInterval(r), "an earlier version did not count by due second")
	assert.Nil(t, NewInterval(&report.Run{}))
}

// Regression: with all deliveries in a few bins, a count far from the tail varied less than the tail does.
func TestTheTailIsCountedFromTheBinNearestToP99(t *testing.T) {
	t.Parallel()
	h := ledger.NewHistogram()
	add := func(us, n int64) []int64 {
		require.NoError(t, h.RecordValues(us, n))
		return []int64{ledger.BinOf(us), n}
	}
	seconds := [][]int64{add(2000, 9000), add(3000, 985), add(4500, 15)}
	edge, ok := tailEdge(float64(valueAt(h, 0.99))/1000, seconds)
	assert.True(t, ok)
	_, share, _ := excess(seconds, edge)
	assert.InDelta(t, 0.0015, share, 1e-9, "10 % is too far from 1 %")
	_, ok = tailEdge(float64(valueAt(h, 0.99))/1000, seconds[:2])
	assert.False(t, ok, "nothing is above p99")
}

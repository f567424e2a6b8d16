package facts

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// process makes runs whose latencies have a level that lasts: the logarithm of a second's level is autoregressive.
type process struct {
	memory, level, noise float64 // autocorrelation, and standard deviations of the logarithm
	perSecond            int
	rise                 float64 // how much the logarithm rises over a ramp in the first half of a run
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
		ramp := p.rise * min(1, float64(2*t)/float64(seconds))
		all[t] = make([]int64, 1+ledger.BinOf(ledger.Highest)+1) // from bin 0 on
		for range p.perSecond {
			us := int64(processMedianUS * math.Exp(ramp+p.level*level+p.noise*random.NormFloat64()))
			_ = h.RecordValue(us)
			all[t][1+ledger.BinOf(us)]++
		}
	}
	return h, all
}

func (p process) interval(seed uint64, seconds int) *runfile.P99Interval {
	h, bins := p.run(seed, seconds)
	return intervalOf(quantileOf(h), bins, oneLoad(seconds))
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
		"independent deliveries": {0, 0, 0.3, 100, 0},
		"independent seconds":    {0, 0.2, 0.3, 100, 0},
		"seconds alike":          {0.5, 0.2, 0.3, 100, 0},
	} {
		covers, known := p.coverage(runs, 120)
		t.Logf("%s: %.3f of %d", name, covers, known)
		assert.GreaterOrEqual(t, covers, 0.93, name)
		assert.Greater(t, known, runs/2, name)
	}
}

// rampAndHold are the loads of a run with a ramp in its first half.
func rampAndHold(seconds int) loads {
	l := loads{make([]int, seconds), []bool{true, false}}
	for t := seconds / 2; t < seconds; t++ {
		l.of[t] = 1
	}
	return l
}

// Regression: the seconds of a ramp are alike because the load is, and runs with one had no interval.
func TestTheIntervalOfARampHoldsTheTrueP99(t *testing.T) {
	t.Parallel()
	const runs, seconds = 200, 240
	p := process{0.5, 0.2, 0.3, 100, 1}
	all, intervals := ledger.NewHistogram(), []*runfile.P99Interval{}
	for seed := range uint64(runs) {
		h, bins := p.run(seed, seconds)
		all.Merge(h)
		intervals = append(intervals, intervalOf(quantileOf(h), bins, rampAndHold(seconds)))
	}
	truth := float64(valueAt(all, 0.99)) / 1000
	known, held := 0, 0
	for _, i := range intervals {
		if i == nil {
			continue
		}
		known++
		if i.LowMS <= truth && truth <= i.HighMS {
			held++
		}
	}
	t.Logf("%d of %d, of %d", held, known, runs)
	assert.Greater(t, known, runs/3)
	assert.GreaterOrEqual(t, float64(held)/float64(known), 0.93)
}

func TestSecondsThatAreAlikeMakeTheIntervalWider(t *testing.T) {
	t.Parallel()
	width := func(memory float64) (sum float64) {
		for seed := range uint64(20) {
			i := process{memory, 0.2, 0.3, 100, 0}.interval(seed, 300)
			require.NotNil(t, i)
			sum += i.HighMS - i.LowMS
		}
		return sum
	}
	assert.Greater(t, width(0.5), 1.2*width(0))
}

func TestARunThatIsTooShortHasNoInterval(t *testing.T) {
	t.Parallel()
	assert.Nil(t, process{0, 0.2, 0.3, 100, 0}.interval(1, blocksLeast-1))
	nearlyOneLevel := process{0.99, 0.5, 0.1, 100, 0}
	for seed := range uint64(10) {
		assert.Nil(t, nearlyOneLevel.interval(seed, 60), "its seconds are too much alike")
	}
}

func TestTheIntervalSaysWhatItIsMadeOf(t *testing.T) {
	t.Parallel()
	h, seconds := process{0, 0.2, 0.3, 100, 0}.run(1, 120)
	i := intervalOf(quantileOf(h), seconds, oneLoad(120))
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
	i := process{0, 0.2, 0.3, 20, 0}.interval(1, 3*pointsMost+1)
	require.NotNil(t, i)
	assert.Equal(t, 3*pointsMost+1, i.Seconds)
	assert.Zero(t, i.BlockS%4, "seconds are put together by four")
	assert.LessOrEqual(t, i.Blocks*i.BlockS, i.Seconds)
}

func TestTheIntervalOfARunIsThatOfItsHistogramAndSeconds(t *testing.T) {
	t.Parallel()
	h, seconds := process{0, 0.2, 0.3, 100, 0}.run(1, 120)
	encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	require.NoError(t, err)
	r := &runfile.Run{Steps: []runfile.Step{{DurationS: 5}, {StartS: 5, DurationS: 120, Measured: true}}}
	r.Latency.Arrival = runfile.Latency{Count: h.TotalCount(), Histogram: new(string(encoded))}
	for range 5 { // warm-up
		r.Timeline = append(r.Timeline, runfile.Interval{T: len(r.Timeline)})
	}
	for _, bins := range seconds {
		r.Timeline = append(r.Timeline, runfile.Interval{T: len(r.Timeline), DueBins: bins})
	}
	r.Run.Profile.Phases = []runfile.Phase{{ArrivalRate: new(10.0)}, {ArrivalRate: new(100.0)}}
	assert.Equal(t, intervalOf(quantileOf(h), seconds, oneLoad(120)), NewInterval(r))
	r.Latency.Arrival.Histogram = nil
	all := &ledger.Series{Histogram: h, Count: h.TotalCount(), Max: h.Max()}
	r.Latency.Arrival.Curve = runfile.NewLatency(all, false).Curve
	curved := NewInterval(r)
	assert.InEpsilon(t, intervalOf(quantileOf(h), seconds, oneLoad(120)).LowMS, curved.LowMS, 0.01)
	assert.InEpsilon(t, intervalOf(quantileOf(h), seconds, oneLoad(120)).HighMS, curved.HighMS, 0.03)
	for i := range r.Timeline {
		r.Timeline[i].DueBins = nil
	}
	assert.Nil(t, NewInterval(r), "no second has them")
	assert.Nil(t, NewInterval(&runfile.Run{}))
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

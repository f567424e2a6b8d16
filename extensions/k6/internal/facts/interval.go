package facts

import (
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

const (
	intervalLevel = 0.95
	tail          = 0.01 // share of the deliveries above p99
	tailNear      = 2    // a share that differs by no more than this factor varies as the tail does
	pointsMost    = 600  // longer series are averaged to so many points: the effort grows with the square
	secondsLeast  = 25   // the least effective number of independent seconds; with fewer the interval misses p99 too often
	freedomLeast  = 4    // degrees of freedom; with fewer the interval says nothing
)

// NewInterval is the confidence interval of a run's arrival p99; nil: the run is too short for how alike its seconds
// are, too little lies above p99, or the run did not count its deliveries by due second. A run without its histogram
// has the quantiles of its curve.
//
// It is the interval of Woodruff (1952): the quantiles of the run's histogram at the ends of the interval of the share
// above p99. The variance of that share comes from blocks of consecutive seconds (by due time), as slow seconds come
// together. How many blocks there are, and by how much their variance is too small, follows from how alike the seconds
// are.
func NewInterval(r *runfile.Run) *runfile.P99Interval {
	arrival := r.Latency.Arrival
	if arrival.Count < runfile.Hundred {
		return nil
	}
	quantile := func(share float64) float64 { return onCurve(arrival.Curve, share) }
	if arrival.Histogram != nil {
		h, err := hdrhistogram.Decode([]byte(*arrival.Histogram))
		if err != nil || h.TotalCount() == 0 {
			return nil
		}
		quantile = quantileOf(h)
	}
	seconds, at := dueBins(r)
	return intervalOf(quantile, seconds, newLoads(r, at))
}

// quantileOf are the quantiles of a histogram of µs, in ms, by share.
func quantileOf(h *hdrhistogram.Histogram) func(share float64) float64 {
	return func(share float64) float64 { return float64(valueAt(h, share)) / 1000 }
}

// onCurve is the value at a share on a curve of percentiles, between two of its points.
func onCurve(curve [][2]float64, share float64) float64 {
	for i, p := range curve {
		switch {
		case p[0] < 100*share:
		case i == 0:
			return p[1]
		default:
			before := curve[i-1]
			return before[1] + (p[1]-before[1])*(100*share-before[0])/(p[0]-before[0])
		}
	}
	return 0 // there is no curve
}

// dueBins are the counts of the measured seconds, nil in place of one without a delivery, and the step of each. Both
// are empty for a run that does not know them.
func dueBins(r *runfile.Run) (seconds [][]int64, at []int) {
	known := false
	for i := range r.Timeline {
		s := &r.Timeline[i]
		if step := measuredStep(r, s); step >= 0 {
			seconds, at, known = append(seconds, s.DueBins), append(at, step), known || len(s.DueBins) > 0
		}
	}
	if !known {
		return nil, nil
	}
	return seconds, at
}

// intervalOf is the interval of the p99 of a distribution (ms by share), whose samples are counted by second in bins.
func intervalOf(quantile func(share float64) float64, seconds [][]int64, under loads) *runfile.P99Interval {
	edge, ok := tailEdge(quantile(1-tail), seconds)
	if !ok || under.shortest() < blocksLeast {
		return nil
	}
	raw, share, all := excess(seconds, edge)
	series := under.without(raw)
	width := (len(series) + pointsMost - 1) / pointsMost
	points := averaged(series, width)
	own := newLikeness(points)
	level := newLikeness(averaged(under.without(levels(seconds)), width))
	blocks := newBlocking([]likeness{own, level}, len(points), intervalLevel)
	if blocks == nil {
		return nil
	}
	even := evenness(raw, series, share*all)
	freedom := float64(blocks.count-under.terms()) * even
	if float64(len(points))*even < secondsLeast*own.typical(len(points)) || freedom < freedomLeast {
		return nil
	}
	length := blocks.length * width
	// Few blocks may all be calm by chance. Single seconds are many, though it is less known by how much their variance
	// is too small: the greater of both counts, and no less than that of independent deliveries.
	relative := max(
		spread(series, length, blocks.count, under.terms())*math.Sqrt(blocks.inflation)/(share*all),
		spread(series, width, len(points), under.terms())*math.Sqrt(own.typical(len(points)))/(share*all),
		math.Sqrt((1-tail)/(tail*all)),
	)
	reach := critical(intervalLevel, freedom) * relative
	if reach >= 1 { // the upper end lies beyond all samples
		return nil
	}
	return &runfile.P99Interval{
		LowMS: quantile(1 - tail*(1+reach)), HighMS: quantile(1 - tail*(1-reach)), Level: intervalLevel,
		Samples: int64(all), Seconds: len(series), Blocks: blocks.count, BlockS: length, Inflated: blocks.inflation,
	}
}

// spread is the standard deviation of the sum of a series, without so many terms of its loads, from so many blocks of
// it that are independent. The last one is longer by what is left over.
func spread(series []float64, length, count, terms int) float64 {
	squares := 0.0
	for i := range count {
		to := (i + 1) * length
		if i == count-1 {
			to = len(series)
		}
		sum := 0.0
		for _, v := range series[i*length : to] {
			sum += v
		}
		squares += sum * sum
	}
	return math.Sqrt(squares * float64(count) / float64(count-terms))
}

// evenness is how evenly a tail of so many deliveries is spread over the seconds by their loads, 1 at most: seconds
// whose load adds little to the tail say little about how it varies. raw is the excess of each second, of which rest
// does not follow from its load.
func evenness(raw, rest []float64, above float64) float64 {
	squares, fourths, mean := 0.0, 0.0, above/float64(len(raw))
	for i := range raw {
		expected := max(0, mean+raw[i]-rest[i])
		squares += expected * expected
		fourths += expected * expected * expected * expected
	}
	if fourths == 0 {
		return 1
	}
	return squares * squares / fourths / float64(len(raw))
}

// tailEdge is the bin from which on a count varies as the deliveries above p99 do: the one with the share nearest to
// 1 %. If that is far from 1 %, it is the next with fewer: the fewer they are, the more their number varies. ok is
// false if no delivery is in such a bin.
func tailEdge(p99MS float64, seconds [][]int64) (edge int64, ok bool) {
	p99 := ledger.BinOf(int64(p99MS * 1000))
	_, below, all := excess(seconds, p99)
	_, above, _ := excess(seconds, p99+1)
	if all == 0 {
		return 0, false
	}
	away := func(share float64) float64 { return math.Abs(math.Log(share / tail)) }
	if away(below) <= math.Log(tailNear) && away(below) < away(above) {
		return p99, true
	}
	return p99 + 1, above > 0
}

// excess is how many deliveries of each second are in a bin or above, more than its share of all would be; and that
// share, and the number of all.
func excess(seconds [][]int64, edge int64) (series []float64, share, all float64) {
	counts := make([]float64, len(seconds))
	series = make([]float64, len(seconds))
	above := 0.0
	for i, bins := range seconds {
		for k := 1; k < len(bins); k++ {
			counts[i] += float64(bins[k])
			if bins[0]+int64(k)-1 >= edge {
				series[i] += float64(bins[k])
			}
		}
		all, above = all+counts[i], above+series[i]
	}
	if all == 0 {
		return series, 0, 0
	}
	share = above / all
	for i := range series {
		series[i] -= share * counts[i]
	}
	return series, share, all
}

// levels are the mean bins of seconds: they show how alike seconds are where few deliveries of each are above p99. A
// second without a delivery is as the one before.
func levels(seconds [][]int64) []float64 {
	all, last := make([]float64, len(seconds)), 0.0
	for i, bins := range seconds {
		sum, count := 0.0, 0.0
		for k := 1; k < len(bins); k++ {
			sum += float64(bins[k]) * float64(bins[0]+int64(k)-1)
			count += float64(bins[k])
		}
		if count > 0 {
			last = sum / count
		}
		all[i] = last
	}
	return all
}

// averaged puts so many values together; those that are left over are left out.
func averaged(series []float64, width int) []float64 {
	if width <= 1 {
		return series
	}
	points := make([]float64, len(series)/width)
	for i := range points {
		for _, v := range series[i*width : (i+1)*width] {
			points[i] += v / float64(width)
		}
	}
	return points
}

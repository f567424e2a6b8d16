package facts

import (
	"fmt"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// p99Widths are the seconds over which a p99 is taken where single seconds have too few deliveries.
var p99Widths = []int{5, 10}

// p99Over is arrival p99 over several seconds each, for a run most of whose seconds have none of their own; nil: they
// have, or a window has too few deliveries as well.
func p99Over(r *runfile.Run) *runfile.P99Over {
	own, all := 0, 0
	for _, s := range arrivalSeconds(r) {
		all++
		if s.Arrival.P99OrNil() != nil {
			own++
		}
	}
	if all == 0 || 2*own >= all {
		return nil
	}
	for _, width := range p99Widths {
		over, known, windowed := &runfile.P99Over{WindowS: width, MS: make([]*float64, len(r.Timeline))}, 0, 0
		for from := 0; from < len(r.Timeline); from += width {
			to := min(from+width, len(r.Timeline))
			p99 := binnedP99(r.Timeline[from:to])
			windowed++
			if p99 != nil {
				known++
			}
			for i := from; i < to; i++ {
				over.MS[i] = p99
			}
		}
		if 2*known >= windowed && known > 0 {
			return over
		}
	}
	return nil
}

// binnedP99 is the p99 of the deliveries that arrived in some seconds, ms, from their bins; nil: too few.
func binnedP99(seconds []runfile.Interval) *float64 {
	first, last, slowest := int64(0), int64(-1), 0.0
	for i := range seconds {
		bins := seconds[i].Bins
		if len(bins) < 2 {
			continue
		}
		end := bins[0] + int64(len(bins)) - 2
		if last < 0 {
			first, last = bins[0], end
		}
		first, last = min(first, bins[0]), max(last, end)
		if a := seconds[i].Arrival; a != nil {
			slowest = max(slowest, a.Max)
		}
	}
	if last < 0 {
		return nil
	}
	sum := make([]int64, last-first+2)
	sum[0] = first
	for i := range seconds {
		bins := seconds[i].Bins
		for k := 1; k < len(bins); k++ {
			sum[bins[0]+int64(k)-first] += bins[k]
		}
	}
	return binQuantile(sum, 0.99, slowest)
}

// p99OverTitle is about p99 over several seconds each, of the measured phases.
func p99OverTitle(r *runfile.Run, over *runfile.P99Over, limit *float64) string {
	measured := map[int]bool{}
	for _, s := range arrivalSeconds(r) {
		measured[s.T] = true
	}
	most, at, above, known := 0.0, 0, 0, false
	for i, v := range over.MS {
		if v == nil || !measured[r.Timeline[i].T] {
			continue
		}
		if !known || *v > most {
			most, at, known = *v, r.Timeline[i].T-i%over.WindowS, true
		}
		if limit != nil && *v >= *limit {
			above++
		}
	}
	of := fmt.Sprintf("p99 of each %d s", over.WindowS)
	worst := fmt.Sprintf("at most ≈ %s ms (%s)", words.MS(&most), moment(at))
	switch {
	case !known:
		return "No second of a measured phase has a delivery"
	case limit == nil:
		return of + " was " + worst
	case above == 0:
		return fmt.Sprintf("%s was below the limit of %s ms: %s", of, words.Figure(limit), worst)
	}
	return fmt.Sprintf("%s was at or above the limit of %s ms for %d s: %s", of, words.Figure(limit), above, worst)
}

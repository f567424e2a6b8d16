package facts

import (
	"fmt"
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// p99Widths are the seconds over which a p99 is taken where single seconds have too few deliveries.
var p99Widths = []int{5, 10}

// p99Over is arrival p99 over several seconds each, for a run most of whose measured seconds have none of their own;
// nil: they have, or most windows have too few deliveries as well. A window begins at the first measured second, so
// that none has deliveries of a warm-up beside those of a measured phase.
func p99Over(r *runfile.Run) *runfile.P99Over {
	own, measured := 0, arrivalSeconds(r)
	for _, s := range measured {
		if s.Arrival.P99OrNil() != nil {
			own++
		}
	}
	if len(measured) == 0 || 2*own >= len(measured) {
		return nil
	}
	first := slices.IndexFunc(r.Timeline, func(s runfile.Interval) bool { return s.T == measured[0].T })
	for _, width := range p99Widths {
		over, known, windowed := &runfile.P99Over{WindowS: width, MS: make([]*float64, len(r.Timeline))}, 0, 0
		for from, to := 0, 0; from < len(r.Timeline); from = to {
			to = windowEnd(r, from, first, width)
			p99 := binnedP99(r.Timeline[from:to])
			if from >= first {
				windowed++
				if p99 != nil {
					known++
				}
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

// windowEnd is the index after the window that begins at an index of the timeline.
func windowEnd(r *runfile.Run, from, first, width int) int {
	to := from + width
	if from < first {
		to = min(to, first)
	}
	return min(to, len(r.Timeline))
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
			most, at, known = *v, r.Timeline[i].T, true
		}
		if limit != nil && *v >= *limit {
			above++
		}
	}
	of := fmt.Sprintf("p99 of each %d s", over.WindowS)
	worst := fmt.Sprintf("at most ≈ %s ms (%s)", words.MS(&most), moment(at))
	switch {
	case !known:
		return "The measured phases have too few deliveries for a p99 over time"
	case limit == nil:
		return of + " was " + worst
	case above == 0:
		return fmt.Sprintf("%s was below the limit of %s ms: %s", of, words.Figure(limit), worst)
	}
	return fmt.Sprintf("%s was at or above the limit of %s ms for %d s: %s", of, words.Figure(limit), above, worst)
}

package facts

import (
	"cmp"
	"math"
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// A punctual generator's messages arrive no later than those of a late one, and earlier by at most the lateness of
// their busy period: shifting the whole schedule by the largest lateness of a busy period shifts its arrivals by as
// much, and no message is sent later than in that schedule. So arrival less this lateness is a reading from below.
// It holds for pipelines that serve in order, or whose messages do not wait for each other.

// busyLeast is how many seconds before a message its busy period is taken to begin at the latest.
const busyLeast = 2

// LatestMS is the largest lateness of any request of a run, ms; 0: none was late, or the closed model.
func LatestMS(r *report.Run) float64 {
	most := 0.0
	for i := range r.Timeline {
		if late := r.Timeline[i].LateMaxMS; late != nil {
			most = max(most, *late)
		}
	}
	if own := r.Health.Lateness; own != nil && own.Max != nil {
		most = max(most, *own.Max)
	}
	return most
}

// busyLateness is for each second of the timeline the largest lateness, ms, of what was due in the busy period of its
// messages: that second, busyLeast seconds before it, and as many before these as had messages under way for a second.
func busyLateness(timeline []report.Interval) []float64 {
	late, busy := make([]float64, len(timeline)), make([]float64, len(timeline))
	for i := range timeline {
		if own := timeline[i].LateMaxMS; own != nil {
			late[i] = *own
		}
		if slowestMS(&timeline[i]) >= 1000 {
			busy[i] = max(late[i], busy[max(0, i-1)])
		}
	}
	most := make([]float64, len(timeline))
	for i := range timeline {
		from := max(0, i-busyLeast)
		most[i] = slices.Max(late[from : i+1])
		if from > 0 {
			most[i] = max(most[i], busy[from-1])
		}
	}
	return most
}

// slowestMS is the arrival latency of the slowest delivery that was due in a second, at most.
func slowestMS(s *report.Interval) float64 {
	if len(s.DueBins) < 2 {
		return 0
	}
	return ledger.BinEnd(s.DueBins[0]+int64(len(s.DueBins)-2)) / 1000
}

// lowest are the deliveries of a run by the least that their arrival latency would be, ms, had all messages been sent
// when due.
func lowest(r *report.Run) (all []lowCount, count int64) {
	late := busyLateness(r.Timeline)
	for i := range r.Timeline {
		bins := r.Timeline[i].DueBins
		if len(bins) < 2 {
			continue
		}
		for k, n := range bins[1:] {
			if n > 0 {
				begin := ledger.BinEnd(bins[0]+int64(k)-1) / 1000
				all = append(all, lowCount{max(0, begin-late[i]), n})
				count += n
			}
		}
	}
	return all, count
}

type lowCount struct {
	ms float64
	n  int64
}

// PunctualMS is a lower limit of a quantile of the arrival latency (ms), had all messages been sent when due; 0:
// nothing is known.
func PunctualMS(r *report.Run, quantile float64) float64 {
	all, count := lowest(r)
	if count == 0 {
		return 0
	}
	slices.SortFunc(all, func(a, b lowCount) int { return cmp.Compare(a.ms, b.ms) })
	rank, seen := int64(math.Ceil(quantile*float64(count))), int64(0)
	for _, one := range all {
		if seen += one.n; seen >= rank {
			return one.ms
		}
	}
	return all[len(all)-1].ms
}

// PunctualWithin is an upper limit of the share of the deliveries that arrive within a time (ms), had all messages been
// sent when due; 1: nothing is known.
func PunctualWithin(r *report.Run, ms float64) float64 {
	all, count := lowest(r)
	if count == 0 {
		return 1
	}
	inside := int64(0)
	for _, one := range all {
		if one.ms <= ms {
			inside += one.n
		}
	}
	return float64(inside) / float64(count)
}

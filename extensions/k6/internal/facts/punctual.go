package facts

import (
	"cmp"
	"math"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// Overtaking is how many times the largest lateness of its busy period a message may arrive later for it. A punctual
// generator's messages arrive no later than those of a late one, and earlier by at most that. Once, as the whole
// schedule shifted by that lateness shifts all arrivals by as much, and no message is sent later than in it. Once more,
// as senders overtake each other: a message that was due first may be sent last, behind all that were due within that
// lateness. It holds for pipelines that serve in order or side by side and have no clock of their own.
const Overtaking = 2

// busyLeast is how many seconds before a message its busy period is taken to begin at the latest.
const busyLeast = 2

// LatestMS is the largest lateness of any request of a run, ms. known is false where a second does not have it: the
// closed model, or a merged run without it.
func LatestMS(r *runfile.Run) (most float64, known bool) {
	for i := range r.Timeline {
		switch s := &r.Timeline[i]; {
		case s.LateMaxMS != nil:
			most, known = max(most, *s.LateMaxMS), true
		case s.Requests > 0:
			return 0, false
		}
	}
	return most, known
}

// busyLateness is for each second of the timeline the largest lateness, ms, of what was due in the busy period of its
// messages: that second, busyLeast seconds before it, and as many before these as had messages under way for a second.
func busyLateness(timeline []runfile.Interval) []float64 {
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
func slowestMS(s *runfile.Interval) float64 {
	if len(s.DueBins) < 2 {
		return 0
	}
	return ledger.BinEnd(s.DueBins[0]+int64(len(s.DueBins)-2)) / 1000
}

// Punctual are lower readings of a run's arrival latency: what it would at least be, had all messages been sent when
// due.
type Punctual struct {
	tolerances []tolerance
	bars       []bar // the measured deliveries, by falling latency
	count      int64
}

// tolerance is a lateness, ms, and the deliveries whose busy period was later: nothing is known of these.
type tolerance struct {
	late    float64
	unknown []int64 // deliveries by bin
}

// bar is how many deliveries took a latency, ms.
type bar struct {
	ms float64
	n  int64
}

// tolerancesTried is how many are tried, between the lateness of the best second and that of the worst.
const tolerancesTried = 24

// NewPunctual returns the lower readings of a run; nil where the lateness is not known. wait is how long arrivals may
// have been unread, ms.
func NewPunctual(r *runfile.Run, wait float64) *Punctual {
	most, known := LatestMS(r)
	if !known {
		return nil
	}
	p := &Punctual{bars: barsOf(r)}
	for _, b := range p.bars {
		p.count += b.n
	}
	late := busyLateness(r.Timeline)
	all := []float64{most}
	for i := range r.Timeline {
		if len(r.Timeline[i].DueBins) > 1 {
			all = append(all, late[i])
		}
	}
	slices.Sort(all)
	for k := range tolerancesTried + 1 {
		t := tolerance{late: all[k*(len(all)-1)/tolerancesTried]}
		for i := range r.Timeline {
			if late[i] > t.late {
				t.add(r.Timeline[i].DueBins)
			}
		}
		t.late = Overtaking*t.late + wait
		p.tolerances = append(p.tolerances, t)
	}
	return p
}

func (t *tolerance) add(bins []int64) {
	if len(bins) < 2 {
		return
	}
	first := int(max(0, bins[0]))
	t.unknown = append(t.unknown, make([]int64, max(0, first+len(bins)-1-len(t.unknown)))...)
	for k, n := range bins[1:] {
		t.unknown[first+k] += n
	}
}

// unknownFrom is how many of the deliveries of which nothing is known took a time (ms) or longer, at most.
func (t *tolerance) unknownFrom(ms float64) (n int64) {
	for bin := len(t.unknown) - 1; bin >= 0 && ledger.BinEnd(int64(bin)) > ms*1000; bin-- {
		n += t.unknown[bin]
	}
	return n
}

// barsOf are the measured deliveries by falling latency, each counted at the lower end of its bar: of the histogram,
// or else of the bins.
func barsOf(r *runfile.Run) (bars []bar) {
	if text := r.Latency.Arrival.Histogram; text != nil {
		if h, err := hdrhistogram.Decode([]byte(*text)); err == nil {
			for _, b := range h.Distribution() {
				if b.Count > 0 {
					bars = append(bars, bar{float64(b.From) / 1000, b.Count})
				}
			}
		}
	} else if bins := r.ArrivalBins; len(bins) > 1 {
		for k, n := range bins[1:] {
			if n > 0 {
				bars = append(bars, bar{ledger.BinEnd(bins[0]+int64(k)-1) / 1000, n})
			}
		}
	}
	slices.SortFunc(bars, func(a, b bar) int { return cmp.Compare(b.ms, a.ms) })
	return bars
}

// above is how many deliveries would at least have taken longer than a time (ms).
func (p *Punctual) above(ms float64) (most int64) {
	for i := range p.tolerances {
		t, n := &p.tolerances[i], int64(0)
		for _, b := range p.bars {
			if b.ms-t.late <= ms {
				break
			}
			n += b.n
		}
		most = max(most, n-t.unknownFrom(ms+t.late))
	}
	return most
}

// Within is an upper limit of the share of the deliveries that would have arrived within a time (ms).
func (p *Punctual) Within(ms float64) float64 {
	if p.count == 0 {
		return 1
	}
	return 1 - float64(p.above(ms))/float64(p.count)
}

// Quantile is a lower limit of a quantile of the arrival latency, ms; 0: nothing is known.
func (p *Punctual) Quantile(q float64) (least float64) {
	const noise = 1e-9 // the rounding error of 0.99 × 100 in binary
	beyond := p.count - int64(math.Ceil(q*float64(p.count)-noise))
	for i := range p.tolerances {
		t, n := &p.tolerances[i], int64(0)
		for _, b := range p.bars {
			if b.ms-t.late <= least {
				break
			}
			if n += b.n; n-t.unknownFrom(b.ms) > beyond {
				least = b.ms - t.late
				break
			}
		}
	}
	return least
}

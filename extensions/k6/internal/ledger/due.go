package ledger

import "math"

// binsPerDecade is the scale of counts by time that the report shows: bin k holds times from 10^(k/10) µs.
const binsPerDecade = 10

// BinOf is the bin of a time in µs; shorter times than 1 µs are in the first.
func BinOf(us int64) int64 {
	const correction = 1e-9 // log10 of a power of ten may be just below the whole number
	return int64(math.Floor(math.Log10(float64(max(us, 1)))*binsPerDecade + correction))
}

// BinEnd is the time, in µs, at which the next bin begins.
func BinEnd(bin int64) float64 { return math.Pow(10, float64(bin+1)/binsPerDecade) }

// dueSeconds are the arrival latencies of the measured phases, by the second in which their message was due. In
// overload they arrive long after it.
type dueSeconds []dueSecond

// dueSecond counts deliveries by bin. A day has many seconds, so it holds only the bins between the lowest and the
// highest.
type dueSecond struct {
	first  int64
	counts []uint32
}

// add counts a delivery whose message was due so many µs after the start.
func (d *dueSeconds) add(due, arrival int64) {
	if due < 0 {
		return
	}
	second := int(due / 1_000_000)
	for len(*d) <= second {
		*d = append(*d, dueSecond{})
	}
	s, bin := &(*d)[second], BinOf(arrival)
	if s.counts == nil {
		s.first = bin
	}
	if before := s.first - bin; before > 0 {
		s.first, s.counts = bin, append(make([]uint32, before), s.counts...)
	}
	for int64(len(s.counts)) <= bin-s.first {
		s.counts = append(s.counts, 0)
	}
	s.counts[bin-s.first]++
}

// DueBins counts the deliveries of the measured phases whose messages were due in a second of the run: the number of
// the first used bin, then the counts up to the last used one. It is nil without a delivery.
func (l *Ledger) DueBins(second int) []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if second >= len(l.dues) || l.dues[second].counts == nil {
		return nil
	}
	bins := []int64{l.dues[second].first}
	for _, n := range l.dues[second].counts {
		bins = append(bins, int64(n))
	}
	return bins
}

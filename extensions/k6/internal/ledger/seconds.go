package ledger

import (
	"math"
)

// Interval is one second of the run. Its times are those of the messages that arrived in it.
type Interval struct {
	Requests                         int // sent, without retries
	Sent, Accepted, Rejected, Failed int // messages
	// deliveries of accepted messages that had not arrived at the end of the interval
	Backlog           int
	Arrival, FromSend Series
	HTTP              Series // requests that were answered in it
	Bytes             int64  // length of the payloads that arrived
	Stages            StageSums
}

func (i *Interval) reset() {
	i.Arrival.reset()
	i.FromSend.reset()
	i.HTTP.reset()
	*i = Interval{Arrival: i.Arrival, FromSend: i.FromSend, HTTP: i.HTTP}
}

// Cut ends an interval, begins the next, and frees the memory of resolved messages. The returned interval is valid
// until the next Cut.
func (l *Ledger) Cut() *Interval {
	l.spare.reset()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.compact()
	l.interval.Backlog = l.owed
	l.interval, l.spare = l.spare, l.interval
	return l.spare
}

// lateSeconds are the largest lateness of the requests that were due in each second of the run, in µs plus one; 0:
// none was sent. A day takes 350 KB.
type lateSeconds []uint32

// add notes a request that was due so many µs after the start. One that was sent before it was due is not late, and of
// more than an hour the histogram of the lateness knows no more either.
func (s *lateSeconds) add(due, late int64) {
	if due < 0 {
		return
	}
	second := int(due / 1_000_000)
	for len(*s) <= second {
		*s = append(*s, 0)
	}
	late = min(max(late, 0), Highest)
	(*s)[second] = max((*s)[second], uint32(late)+1)
}

// sentSeconds are the messages of the open model that were sent in each second of the run.
type sentSeconds []uint32

func (s *sentSeconds) add(at int64, messages int) {
	second := int(max(0, at) / 1_000_000)
	for len(*s) <= second {
		*s = append(*s, 0)
	}
	(*s)[second] += uint32(messages)
}

// SentIn is how many messages were sent in a second of the run, by the time of their request; 0 in the closed model.
func (l *Ledger) SentIn(second int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if second >= len(l.sentIn) {
		return 0
	}
	return int(l.sentIn[second])
}

// MostLate is the largest lateness (written − due, or sent − due where it is not known when a request was written), in
// µs, of the requests of all phases that were due in a second of the run, whenever they were sent; at most Highest. ok
// is false if none was sent, and in the closed model.
func (l *Ledger) MostLate(second int) (us int64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if second >= len(l.late) || l.late[second] == 0 {
		return 0, false
	}
	return int64(l.late[second] - 1), true
}

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

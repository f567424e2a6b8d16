package ledger

import "github.com/arrival-bench/arrival/extensions/k6/internal/pacer"

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

// Written records when a request that is sent had been written. Between the two the generator may have been paused,
// so the time until then is the most by which the request can have been late.
func (l *Ledger) Written(s pacer.Slot, at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written(s, at)
}

// LeftAndWritten is Left and Written.
func (l *Ledger) LeftAndWritten(s pacer.Slot, left, written int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left(s, left)
	l.written(s, written)
}

func (l *Ledger) written(s pacer.Slot, at int64) {
	if l.pacer.Closed() {
		return
	}
	due := s.Due.Microseconds()
	l.late.add(due, at-l.epoch-due)
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

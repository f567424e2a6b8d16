package run

import (
	"hash/maphash"
	"sync"

	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
)

// Sums are checksums of what a caller sent, by message, as it tells them: a message may arrive before that. They keep
// those of messages that have not arrived in full. Sums may be used from any goroutine.
type Sums struct {
	every int
	seed  maphash.Seed

	mu   sync.Mutex
	sent map[int][2]uint64 // as it was sent, and with LF for each end of a line
}

func newSums(every int) *Sums {
	return &Sums{every: every, seed: maphash.MakeSeed(), sent: map[int][2]uint64{}}
}

// Of returns the sum of a content, never 0. It sums the bytes of one message in every, and the length of the others.
// lines: the ends of its lines may have come as LF, whichever were sent.
func (s *Sums) Of(seq int, content []byte, lines bool) uint64 {
	kind := uint64(1)
	if lines {
		content, kind = body.WithLF(content), 2
	}
	if !body.Picked(seq, s.every) {
		return uint64(len(content))<<2 | kind
	}
	return maphash.Bytes(s.seed, content)<<2 | kind
}

// Sent notes the content that a message was sent with.
func (s *Sums) Sent(seq int, content []byte) {
	both := [2]uint64{s.Of(seq, content, false), s.Of(seq, content, true)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent[seq] = both
}

// Forget forgets a message that has arrived in full.
func (s *Sums) Forget(seq int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sent, seq)
}

// Same reports whether a message that was sent has arrived as it was sent, by its sum; true where that is not known.
func (s *Sums) Same(seq int, sum uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	both, known := s.sent[seq]
	return !known || sum == both[0] || sum == both[1]
}

package ledger

import (
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
)

// Kept is a delivery that the ledger keeps by itself. Times are µs on the own clock.
type Kept struct {
	Seq, Phase, Subscriber int
	Due, Sent, Arrived     int64 // Sent may be Forgotten
}

// keeper keeps the newest deliveries of every n-th message. Its zero value keeps none.
type keeper struct {
	every, most int
	rows        []Kept
	next        int   // index of the next row when the buffer is full
	seen        []int // by phase, including overwritten ones
}

func (k *keeper) note(d Kept) {
	if k.every == 0 || d.Seq%k.every != 0 {
		return
	}
	k.seen[d.Phase]++
	if len(k.rows) < k.most {
		k.rows = append(k.rows, d)
		return
	}
	k.rows[k.next] = d
	k.next = (k.next + 1) % k.most
}

// Keep makes the ledger keep the newest `most` deliveries of messages 0, n, 2n and so on. Call it before the first
// arrival.
func (l *Ledger) Keep(every, most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keeper = keeper{every: every, most: most, seen: make([]int, len(l.phases))}
}

// KeepTraced is Keep for messages whose traces the pipeline records: picks returns the one of a request, if it has one.
func (l *Ledger) KeepTraced(picks func(pacer.Slot) (seq int, ok bool), most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.traced, l.picks = keeper{every: 1, most: most, seen: make([]int, len(l.phases))}, picks
}

// Traced returns the deliveries that KeepTraced keeps, unordered, and how many there were of all phases.
func (l *Ledger) Traced() (rows []Kept, seen int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.traced.seen {
		seen += n
	}
	return slices.Clone(l.traced.rows), seen
}

// Kept returns the kept deliveries, unordered, and the number seen by phase.
func (l *Ledger) Kept() (rows []Kept, seen []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.keeper.rows), slices.Clone(l.keeper.seen)
}

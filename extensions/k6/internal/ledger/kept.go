package ledger

import "slices"

// Kept is a delivery that the ledger keeps by itself. Times are µs on the own clock.
type Kept struct {
	Seq, Phase   int
	Due, Arrived int64
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

// Kept returns the kept deliveries, unordered, and the number seen by phase.
func (l *Ledger) Kept() (rows []Kept, seen []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.keeper.rows), slices.Clone(l.keeper.seen)
}

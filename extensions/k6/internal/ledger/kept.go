package ledger

import "slices"

// Kept is a delivery that is remembered by itself, beside its place in the histograms. Times are µs on the own clock.
type Kept struct {
	Seq, Phase   int
	Due, Arrived int64
}

// keeper remembers the newest deliveries of every n-th message. Its zero value keeps none.
type keeper struct {
	every, most int
	rows        []Kept
	next        int   // where the next row goes once there are as many as may be
	seen        []int // by phase, kept still or not
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

// Keep makes the ledger remember the deliveries of every n-th message by their number, 0, n, 2n and so on: the newest ones, `most` of them. It
// is called before the first arrival.
func (l *Ledger) Keep(every, most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keeper = keeper{every: every, most: most, seen: make([]int, len(l.phases))}
}

// Kept returns what is remembered, in no order, and by phase how many there were to remember.
func (l *Ledger) Kept() (rows []Kept, seen []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.keeper.rows), slices.Clone(l.keeper.seen)
}

package ledger

import (
	"cmp"
	"container/heap"
	"math/bits"
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

// Limits of the single messages that a report lists.
const (
	SlowestOfAll  = 100 // deliveries
	SlowestOfEach = 10  // deliveries of each phase and flow
	NamedOfEach   = 100 // missing messages of each end, duplicates, and deliveries with a negative stage
)

// Named is a delivery that a report may list. Times are µs.
type Named struct {
	Seq, Phase, Subscriber int
	Due                    int64 // since the run's start, or Forgotten
	Arrival                int64 // latency
	Stages                 [stages.Most]int64
	Known                  int // how many stages are known
}

// Message is a message that did not arrive in full.
type Message struct {
	Seq       int
	Phase     int // −1: unknown
	End       End
	Delivered int   // number of subscribers that got it
	Due       int64 // µs since the run's start, or Forgotten
}

// Misplaced is a delivery at a recipient that its message was not for.
type Misplaced struct {
	Seq, Phase, Subscriber int
	Target                 int // as of the Arrival
}

// Messages are the single messages that a report lists.
type Messages struct {
	Slowest    []Named // slowest first
	Sample     []Named // evenly spread over the run, in order of arrival
	Negative   []Named // see Account
	Duplicates []Named // without latency
	Misplaced  []Misplaced
	Missing    []Message
}

// slowest keeps the deliveries with the longest latencies in a min-heap. Its zero value keeps none.
type slowest struct {
	most int
	rows []Named
}

func (s *slowest) Len() int           { return len(s.rows) }
func (s *slowest) Less(i, j int) bool { return s.rows[i].Arrival < s.rows[j].Arrival }
func (s *slowest) Swap(i, j int)      { s.rows[i], s.rows[j] = s.rows[j], s.rows[i] }
func (s *slowest) Push(x any)         { s.rows = append(s.rows, x.(Named)) }
func (s *slowest) Pop() any {
	last := s.rows[len(s.rows)-1]
	s.rows = s.rows[:len(s.rows)-1]
	return last
}

func (s *slowest) takes(us int64) bool { return len(s.rows) < s.most || us > s.rows[0].Arrival }

func (s *slowest) note(d Named) {
	if len(s.rows) < s.most {
		heap.Push(s, d)
		return
	}
	s.rows[0] = d
	heap.Fix(s, 0)
}

// sample keeps the deliveries of every n-th message, and doubles n whenever there are too many. So they are evenly
// spread over a run of any length. Its zero value keeps none.
type sample struct {
	most int
	mask int // n − 1
	rows []Named
}

func (s *sample) note(d Named) {
	if s.most == 0 || d.Seq&s.mask != 0 {
		return
	}
	if s.rows = append(s.rows, d); len(s.rows) > s.most {
		s.mask = s.mask<<1 | 1
		s.rows = slices.DeleteFunc(s.rows, func(d Named) bool { return d.Seq&s.mask != 0 })
	}
}

// Sample makes the ledger also keep up to most deliveries of the measured phases. Call it before the first arrival.
func (l *Ledger) Sample(most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.named.sample.most = most
}

// named are the deliveries kept so far.
type named struct {
	sample     sample
	slowest    slowest
	byFlow     []slowest // the slowest of each phase and flow
	negative   []Named
	duplicates []Named
	misplaced  []Misplaced
}

func newNamed(phases, flows int) named {
	n := named{slowest: slowest{most: SlowestOfAll}, byFlow: make([]slowest, phases*flows)}
	for i := range n.byFlow {
		n.byFlow[i].most = SlowestOfEach
	}
	return n
}

// note keeps a delivery if it is among the slowest or in the sample. of is the index of its phase and flow.
func (n *named) note(d Named, of int) {
	n.sample.note(d)
	if n.slowest.takes(d.Arrival) {
		n.slowest.note(d)
	}
	if of := &n.byFlow[of]; of.takes(d.Arrival) {
		of.note(d)
	}
}

// Messages lists the slowest deliveries of the measured phases, and missing messages of the whole run. It visits every
// message that did not arrive: call it at the end of a run.
func (l *Ledger) Messages() Messages {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := Messages{
		Slowest: slices.Clone(l.named.slowest.rows), Sample: slices.Clone(l.named.sample.rows),
		Negative: slices.Clone(l.named.negative), Duplicates: slices.Clone(l.named.duplicates),
		Misplaced: slices.Clone(l.named.misplaced),
	}
	for _, of := range l.named.byFlow {
		m.Slowest = append(m.Slowest, of.rows...)
	}
	slices.SortFunc(m.Slowest, func(a, b Named) int {
		return cmp.Or(cmp.Compare(b.Arrival, a.Arrival), cmp.Compare(a.Seq, b.Seq),
			cmp.Compare(a.Subscriber, b.Subscriber))
	})
	m.Slowest = slices.CompactFunc(m.Slowest, func(a, b Named) bool {
		return a.Seq == b.Seq && a.Subscriber == b.Subscriber
	})
	var found [ends]int
	l.eachOpen(func(seq int, r *record) {
		end := l.endOf(seq, r)
		if !Ends[end].Failed {
			return
		}
		if found[end]++; found[end] > NamedOfEach {
			return
		}
		one := Message{seq, l.phaseOf(seq, r), end, bits.OnesCount32(r.got), Forgotten}
		if !l.pacer.Closed() {
			one.Due = l.pacer.SlotOf(seq).Due.Microseconds()
		} else if one.Phase >= 0 && r.sent != leaving {
			one.Due = r.sent - l.epoch
		}
		m.Missing = append(m.Missing, one)
	})
	return m
}

// eachOpen visits every message that was sent and has not arrived in full, and some others.
func (l *Ledger) eachOpen(visit func(seq int, r *record)) {
	for i, pg := range l.pages {
		switch {
		case pg == nil:
		case pg.young != nil:
			for at := range pg.young {
				if r := &pg.young[at]; r.outcome != none {
					visit(i*pageSize+at, r)
				}
			}
		default:
			pg.rejected.each(func(at int) { visit(i*pageSize+at, goneRejected) })
			for at := range pg.open {
				visit(i*pageSize+int(pg.open[at].at), &pg.open[at].record)
			}
		}
	}
}

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

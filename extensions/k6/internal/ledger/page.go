package ledger

import (
	"math"
	"math/bits"
	"slices"
)

// pageSize is the number of messages of a page.
const pageSize = 4096

// record is the state of one message.
type record struct {
	sent    int64 // µs on the own clock, or Forgotten
	got     uint32
	outcome Outcome
	fate    Fate
	phase   uint16 // closed model only: the pacer knows the open model's
}

// Forgotten is an unknown time, such as the send time of a rejected message whose record is gone.
const Forgotten = int64(math.MinInt64)

// leaving is the send time of a message whose request is being written.
const leaving = Forgotten + 1

// page holds neighbouring messages. It is young until all are sent or dropped and most are resolved. Then it is folded:
// it keeps records of unresolved messages, and sets of rejected and dropped ones. All others have arrived in full. A
// record overrides a set.
type page struct {
	young    *[pageSize]record
	open     []entry // ascending
	rejected *set
	dropped  *set

	unsent   int32 // neither sent nor dropped so far
	arrived  int32 // in full
	resolved int32 // arrived in full, rejected or dropped
	watched  bool  // the next compaction looks at it
}

// entry is the record of message number at in a folded page.
type entry struct {
	record
	at uint16
}

// set has a bit for each message of a page. nil is the empty set.
type set [pageSize / 64]uint64

func (s *set) has(at int) bool { return s != nil && s[at/64]&(1<<(at%64)) != 0 }

func (s *set) count() int {
	n := 0
	if s != nil {
		for _, word := range s {
			n += bits.OnesCount64(word)
		}
	}
	return n
}

// each visits the members of the set, ascending.
func (s *set) each(visit func(at int)) {
	if s == nil {
		return
	}
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			visit(i*64 + bits.TrailingZeros64(word))
		}
	}
}

func add(s **set, at int) {
	if *s == nil {
		*s = &set{}
	}
	(*s)[at/64] |= 1 << (at % 64)
}

// arrivedInFull replaces a page whose messages have all arrived; the others replace records that are gone.
var (
	arrivedInFull = &page{}
	goneComplete  = &record{outcome: complete}
	goneRejected  = &record{outcome: Rejected}
	goneDropped   = &record{outcome: dropped}
)

// find returns the record of a message, or its replacement.
func (pg *page) find(at int) *record {
	if pg.young != nil {
		return &pg.young[at]
	}
	i, ok := pg.search(at)
	switch {
	case ok:
		return &pg.open[i].record
	case pg.rejected.has(at):
		return goneRejected
	case pg.dropped.has(at):
		return goneDropped
	default:
		return goneComplete
	}
}

func (pg *page) search(at int) (int, bool) {
	return slices.BinarySearchFunc(pg.open, at, func(e entry, at int) int { return int(e.at) - at })
}

// recall gives a rejected message a record again, without its send time.
func (pg *page) recall(at int) *record {
	pg.rejected[at/64] &^= 1 << (at % 64)
	i, _ := pg.search(at)
	pg.open = slices.Insert(pg.open, i, entry{record{sent: Forgotten, outcome: Rejected}, uint16(at)})
	return &pg.open[i].record
}

// fold frees the memory of a page's resolved messages, if that is enough. The limits keep the page within 32 bytes for
// each unresolved message: a record has 24, and the allocator rounds up by an eighth.
func (pg *page) fold() bool {
	unresolved := pageSize - int(pg.resolved)
	switch {
	case pg.unsent > 0:
		return false
	case pg.young != nil && unresolved >= pageSize/2:
		return false
	case pg.young == nil && 8*cap(pg.open) <= 9*unresolved:
		return false
	}
	open := make([]entry, 0, unresolved)
	keep := func(at int, r record) {
		switch r.outcome {
		case complete:
		case Rejected:
			add(&pg.rejected, at)
		case dropped:
			add(&pg.dropped, at)
		default:
			open = append(open, entry{r, uint16(at)})
		}
	}
	if pg.young != nil {
		for at := range pg.young {
			keep(at, pg.young[at])
		}
	}
	for _, e := range pg.open {
		keep(int(e.at), e.record)
	}
	pg.young, pg.open = nil, open
	return true
}

// lookup returns a message's page and record; nil if no message of the page was sent.
func (l *Ledger) lookup(seq int) (*page, *record) {
	if seq < 0 || seq/pageSize >= len(l.pages) || l.pages[seq/pageSize] == nil {
		return nil, nil
	}
	pg := l.pages[seq/pageSize]
	if pg == arrivedInFull {
		return pg, goneComplete
	}
	return pg, pg.find(seq % pageSize)
}

// begin returns the record of a message when it is sent or dropped.
func (l *Ledger) begin(seq int) (*page, *record) {
	i := seq / pageSize
	for i >= len(l.pages) {
		l.pages = append(l.pages, nil)
	}
	if l.pages[i] == nil {
		l.pages[i] = &page{young: &[pageSize]record{}, unsent: pageSize}
		l.watch(i)
	}
	l.pages[i].unsent--
	return l.pages[i], &l.pages[i].young[seq%pageSize]
}

// resolve counts a resolved message. It frees a page when all of its messages have arrived.
func (l *Ledger) resolve(seq int, pg *page, r *record) {
	pg.resolved++
	if r.outcome == complete {
		if pg.arrived++; pg.arrived == pageSize {
			l.pages[seq/pageSize] = arrivedInFull
			return
		}
	}
	l.watch(seq / pageSize)
}

func (l *Ledger) watch(i int) {
	if pg := l.pages[i]; !pg.watched {
		pg.watched = true
		l.watched = append(l.watched, i)
	}
}

// compact folds the pages that have changed. A young page stays watched until it is folded.
func (l *Ledger) compact() {
	l.watched = slices.DeleteFunc(l.watched, func(i int) bool {
		pg := l.pages[i]
		if pg == arrivedInFull {
			return true
		}
		pg.fold()
		pg.watched = pg.young != nil
		return !pg.watched
	})
}

package spans

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
)

// chainMost is how many parents a span is followed up.
const chainMost = 64

// tree are the spans of one trace.
type tree struct {
	spans  []span
	places map[spanID]int
}

// newTree leaves out spans that came before, as exporters try again. Zipkin's clients and servers share an id.
func newTree(spans []span) *tree {
	type name struct {
		id   spanID
		kind tracepb.Span_SpanKind
	}
	t := &tree{spans: make([]span, 0, len(spans)), places: make(map[spanID]int, len(spans))}
	seen := make(map[name]bool, len(spans))
	for _, s := range spans {
		if own := (name{s.id, s.kind}); !seen[own] {
			seen[own] = true
			t.places[s.id] = len(t.spans)
			t.spans = append(t.spans, s)
		}
	}
	return t
}

// group are the spans of one trace that are a message's.
type group struct {
	*tree
	mine []int // places of its spans
}

// above visits a span and the spans above it until visit returns true, and reports whether it has.
func (t *tree) above(i int, visit func(i int) bool) bool {
	for range chainMost {
		if visit(i) {
			return true
		}
		up, ok := t.places[t.spans[i].parent]
		if !ok || up == i {
			return false
		}
		i = up
	}
	return false
}

// owners are the messages whose a span is. In a trace of several messages, links and ids of messages say whose a span
// and those below it are; told is false where none says it.
func (t *tree) owners(i int) (of []int, told bool) {
	told = t.above(i, func(i int) bool {
		switch s := &t.spans[i]; {
		case len(s.links) > 0:
			of = s.links
		case s.of >= 0:
			of = []int{s.of}
		default:
			return false
		}
		return true
	})
	return of, told
}

// byMessage are the spans of each message in a trace.
func (t *tree) byMessage() map[int][]int {
	all := map[int][]int{}
	for i := range t.spans {
		of, _ := t.owners(i)
		for _, n := range of {
			if mine := all[n]; len(mine) == 0 || mine[len(mine)-1] != i {
				all[n] = append(mine, i)
			}
		}
	}
	return all
}

// ofMessage returns the spans of a message in its own trace: those that do not belong to another message.
func (t *tree) ofMessage(n int) (mine []int) {
	for i := range t.spans {
		if of, told := t.owners(i); !told || slices.Contains(of, n) {
			mine = append(mine, i)
		}
	}
	return mine
}

func (t *tree) depth(i int) int {
	depth := -1
	t.above(i, func(int) bool { depth++; return false })
	return depth
}

// message is a sampled message with its spans.
type message struct {
	host       int // the host of its generator
	deliveries []ledger.Kept
	groups     []*group
	marks      []moment // by row of the table
	found      []int    // spans that are the mark, by row
}

// first is when it arrived first.
func (m *message) first() int64 {
	return slices.MinFunc(m.deliveries, func(a, b ledger.Kept) int { return cmp.Compare(a.Arrived, b.Arrived) }).Arrived
}

// messages are the sampled messages in the order of their numbers.
func (k *Keeper) messages(kept []ledger.Kept) []*message {
	linking := map[int][]*group{}
	for _, in := range slices.SortedFunc(maps.Keys(k.linked),
		func(a, b trace) int { return bytes.Compare(a[:], b[:]) }) {
		t := newTree(slices.Concat(k.batches[in], k.own[in]))
		for n, mine := range t.byMessage() {
			if in != k.mixing.TraceOf(n) {
				linking[n] = append(linking[n], &group{t, mine})
			}
		}
	}
	kept = slices.Clone(kept)
	slices.SortFunc(kept, func(a, b ledger.Kept) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Subscriber, b.Subscriber))
	})
	var all []*message
	for rows := range chunks(kept) {
		n := rows[0].Seq
		m := &message{deliveries: rows}
		own := newTree(k.own[k.mixing.TraceOf(n)])
		if mine := own.ofMessage(n); len(mine) > 0 {
			m.groups = append(m.groups, &group{own, mine})
		}
		m.groups = append(m.groups, linking[n]...)
		all = append(all, m)
	}
	return all
}

// chunks are the deliveries of each message.
func chunks(kept []ledger.Kept) func(yield func([]ledger.Kept) bool) {
	return func(yield func([]ledger.Kept) bool) {
		for len(kept) > 0 {
			n := 1
			for n < len(kept) && kept[n].Seq == kept[0].Seq {
				n++
			}
			if !yield(kept[:n:n]) {
				return
			}
			kept = kept[n:]
		}
	}
}

// mark finds the moments of a table in the spans of a message.
func (k *Keeper) mark(m *message, table []Mark) {
	m.marks, m.found = make([]moment, len(table)), make([]int, len(table))
	for row, mark := range table {
		for _, c := range mark.among {
			if m.marks[row], m.found[row] = k.choose(m, c); m.found[row] > 0 {
				break
			}
		}
	}
}

// choose returns the moment of the spans that a choice names, and how many there are. Of nested ones the outermost
// counts: a gateway's span has that of the service below it.
func (k *Keeper) choose(m *message, c choice) (at moment, found int) {
	for _, g := range m.groups {
		is := func(i int) bool {
			s := &g.spans[i]
			if !c.is(s, k.names.list[s.name], k.names.list[s.service]) {
				return false
			}
			return c.under == anywhere ||
				g.above(i, func(up int) bool { return up != i && g.spans[up].kind == consumer }) == (c.under == below)
		}
		for _, i := range g.mine {
			if !is(i) || g.above(i, func(up int) bool { return up != i && is(up) }) {
				continue
			}
			s := &g.spans[i]
			at = moment{int(s.host), s.start / 1000}
			if c.atEnd {
				at.us = s.end / 1000
			}
			found++
		}
	}
	return at, found
}

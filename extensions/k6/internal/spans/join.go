package spans

import (
	"cmp"
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
)

// chainMost is how many parents a span is followed up.
const chainMost = 64

// group are the spans of one trace that are a message's.
type group struct {
	spans  []span
	places map[spanID]int
	own    bool // of the message's own trace
	of     int  // the message
}

func newGroup(spans []span, own bool, of int) *group {
	g := &group{spans: spans, own: own, of: of, places: make(map[spanID]int, len(spans))}
	for i := range spans {
		g.places[spans[i].id] = i
	}
	return g
}

// above visits a span and the spans above it until visit returns true, and reports whether it has.
func (g *group) above(i int, visit func(i int) bool) bool {
	for range chainMost {
		if visit(i) {
			return true
		}
		up, ok := g.places[g.spans[i].parent]
		if !ok || up == i {
			return false
		}
		i = up
	}
	return false
}

// holds reports whether a span is the message's. In a trace of several messages, links and ids of messages say whose a span
// and those below it are.
func (g *group) holds(i int) bool {
	is := g.own
	g.above(i, func(i int) bool {
		switch s := &g.spans[i]; {
		case len(s.links) > 0:
			is = slices.Contains(s.links, g.of)
		case s.of >= 0:
			is = s.of == g.of
		default:
			return false
		}
		return true
	})
	return is
}

func (g *group) depth(i int) int {
	depth := -1
	g.above(i, func(int) bool { depth++; return false })
	return depth
}

// message is a sampled message with its spans.
type message struct {
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
	linking := map[int][]trace{}
	for in, to := range k.linked {
		for n := range to {
			linking[n] = append(linking[n], in)
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
		add := func(spans []span, own bool) {
			g := newGroup(spans, own, n)
			if slices.ContainsFunc(spans, func(s span) bool { return g.holds(g.places[s.id]) }) {
				m.groups = append(m.groups, g)
			}
		}
		add(k.own[k.mixing.TraceOf(n)], true)
		for _, in := range linking[n] {
			if in != k.mixing.TraceOf(n) {
				add(slices.Concat(k.batches[in], k.own[in]), false)
			}
		}
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

// choose returns the moment of the spans that a choice names, and how many there are. Of nested ones the outermost counts:
// a gateway's span has that of the service below it.
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
		for i := range g.spans {
			if !is(i) || !g.holds(i) || g.above(i, func(up int) bool { return up != i && is(up) }) {
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

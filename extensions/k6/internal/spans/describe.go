package spans

import (
	"cmp"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// Limits of what a report has of single messages.
const (
	slowestMost = 10
	treeMost    = 40 // spans of each
)

// startsLeast is how many spans have to begin at whole ms before a host's times count as cut off.
const startsLeast = 20

// slack is how far marks may be out of order besides the bounds of their clocks, µs: clocks are adjusted during a run.
const slack = 1000

// Sampling is what is asked of the spans.
type Sampling struct {
	Asked
	Listen string
	Table  []Mark
	ID     func(n int) string // the id of a message
	Kept   []ledger.Kept      // deliveries of sampled messages, of the measured phases; Seq is a Number
}

// Clock is what Redis' clock shows of a process's, against the first generator's.
type Clock struct {
	Instance string  `json:"instance"`  // service.instance.id of its spans
	OffsetMS float64 `json:"offset_ms"` // its clock minus the generator's
	BoundMS  float64 `json:"bound_ms"`
}

// sorted are the messages of a run by what became of their marks.
type sorted struct {
	table []Mark
	marks []runfile.SpansMark
	used  []int // rows of the table that divide stages

	traced []*message // the messages that have spans
	whole  []*message // messages with all marks
}

// Describe makes stages of the spans.
func (k *Keeper) Describe(s Sampling) *runfile.Spans {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := k.messages(s.Kept)
	k.place(all, s.Generators)
	d := &runfile.Spans{
		OneIn: s.OneIn, Listen: s.Listen, Received: k.received, Sampled: len(s.Kept), Stages: []runfile.SpansStage{},
		Clocks: []runfile.SpansClock{}, Slowest: []runfile.SpansMessage{},
	}
	for _, m := range all {
		if k.mark(m, s.Table); len(m.groups) > 0 {
			d.Traced += len(m.deliveries)
		}
	}
	found := sortOut(all, s.Table, d.Traced)
	h := k.bounded(s, found)
	clocks := h.solve()
	found.order(clocks)
	d.Marks = found.marks
	for i, c := range clocks {
		if i == generator || h.starts[i] == 0 || c.basis == "" {
			continue
		}
		d.Clocks = append(d.Clocks, runfile.SpansClock{Host: h.names[i], OffsetMS: float64(c.offset) / 1000,
			BoundMS: float64(c.bound) / 1000, Basis: c.basis})
	}
	k.stages(d, found, clocks, h, s)
	return d
}

// Complete reports whether all marks of all sampled messages are there.
func (k *Keeper) Complete(kept []ledger.Kept, table []Mark) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !slices.ContainsFunc(k.messages(kept), func(m *message) bool {
		k.mark(m, table)
		return slices.Contains(m.found, 0)
	})
}

// sortOut finds the messages that have all marks once. A mark of the default table counts if half of the messages with
// spans have it: not every pipeline makes all.
func sortOut(all []*message, table []Mark, traced int) *sorted {
	f := &sorted{table: table}
	for row, mark := range table {
		m := runfile.SpansMark{Mark: mark.Name, Span: mark.Span}
		for _, one := range all {
			if one.found[row] > 0 {
				m.Seen += len(one.deliveries)
			}
		}
		if m.Used = m.Seen > 0 && (mark.always || 2*m.Seen >= traced); m.Used {
			f.used = append(f.used, row)
		}
		f.marks = append(f.marks, m)
	}
	for _, one := range all {
		if len(one.groups) == 0 {
			continue
		}
		f.traced = append(f.traced, one)
		wrong := false
		for _, row := range f.used {
			switch n := len(one.deliveries); {
			case one.found[row] == 0:
				f.marks[row].Missing += n
				wrong = true
			case one.found[row] > 1:
				f.marks[row].Twice += n
				wrong = true
			}
		}
		if !wrong && len(f.used) > 0 && one.deliveries[0].Sent != ledger.Forgotten {
			f.whole = append(f.whole, one)
		}
	}
	return f
}

// between are the moments of a message from when it was sent until it arrived first.
func (f *sorted) between(m *message) []moment {
	all := []moment{{m.host, m.deliveries[0].Sent}}
	for _, row := range f.used {
		all = append(all, m.marks[row])
	}
	return append(all, moment{m.host, m.first()})
}

// bounded bounds the clocks of the spans' hosts.
func (k *Keeper) bounded(s Sampling, f *sorted) *hosts {
	h := newHosts(k.hosts.list)
	for i := range h.whole {
		h.whole[i] = i != generator
	}
	for _, all := range []map[trace][]span{k.batches, k.own} {
		for _, spans := range all {
			for i := range spans {
				s := &spans[i]
				h.starts[s.host]++
				h.whole[s.host] = h.whole[s.host] && s.start%1_000_000 == 0
			}
		}
	}
	for i, n := range h.starts {
		h.whole[i] = h.whole[i] && n >= startsLeast
		h.same[i] = i != generator && n > 0 && s.same(h.names[i], k.named[uint16(i)])
	}
	k.knowGenerators(h, s.Generators)
	for _, c := range s.Clocks {
		if host, ok := k.instances[c.Instance]; ok && !h.same[host] {
			h.know(int(host), int64(c.OffsetMS*1000), int64(c.BoundMS*1000)+1)
		}
	}
	for _, m := range f.whole {
		all := f.between(m)
		for i := range all[1:] {
			h.before(all[i], all[i+1])
		}
		for _, g := range m.groups {
			for _, i := range g.mine {
				s := &g.spans[i]
				if up, ok := g.places[s.parent]; ok && !s.receives {
					h.before(moment{int(g.spans[up].host), g.spans[up].start / 1000},
						moment{int(s.host), s.start / 1000})
				}
			}
		}
	}
	return h
}

// order takes out the messages whose marks are out of order.
func (f *sorted) order(clocks []clock) {
	f.whole = slices.DeleteFunc(f.whole, func(m *message) bool {
		all := f.between(m)
		for i := range all[1:] {
			a, b := all[i], all[i+1]
			if on(clocks, b)-on(clocks, a) < -slack-clocks[a.host].bound-clocks[b.host].bound {
				f.marks[f.used[min(i, len(f.used)-1)]].Disordered += len(m.deliveries)
				return true
			}
		}
		return false
	})
}

// on is a moment on the generator's clock.
func on(clocks []clock, m moment) int64 { return m.us - clocks[m.host].offset }

// slowest lists the slowest deliveries.
func (k *Keeper) slowest(d *runfile.Spans, all []slow, clocks []clock, s Sampling) {
	slices.SortStableFunc(all, func(a, b slow) int { return cmp.Compare(b.at.Arrived-b.at.Due, a.at.Arrived-a.at.Due) })
	for _, one := range all[:min(len(all), slowestMost)] {
		trace := k.mixing.TraceOf(one.at.Seq)
		last := len(one.parts) - 1
		m := runfile.SpansMessage{
			ID: s.ID(one.at.Seq), Trace: hex.EncodeToString(trace[:]), ArrivalMS: float64(one.parts[last]) / 1000,
			StagesMS: []float64{}, Spans: k.tree(one.m, one.at, clocks),
		}
		for _, us := range one.parts[:last] {
			m.StagesMS = append(m.StagesMS, float64(us)/1000)
		}
		d.Slowest = append(d.Slowest, m)
	}
}

// tree are the spans of a message by their start.
func (k *Keeper) tree(m *message, at ledger.Kept, clocks []clock) []runfile.SpansSpan {
	all := []runfile.SpansSpan{}
	for _, g := range m.groups {
		for _, i := range g.mine {
			s := &g.spans[i]
			due := on(clocks, moment{m.host, at.Due})
			ms := func(ns int64) float64 { return float64(on(clocks, moment{int(s.host), ns / 1000})-due) / 1000 }
			all = append(all, runfile.SpansSpan{
				Service: k.names.list[s.service], Name: k.names.list[s.name], Depth: g.depth(i), StartMS: ms(s.start),
				EndMS: ms(s.end),
				Kind:  strings.ToLower(strings.TrimPrefix(s.kind.String(), "SPAN_KIND_")),
			})
		}
	}
	slices.SortStableFunc(all, func(a, b runfile.SpansSpan) int {
		return cmp.Or(cmp.Compare(a.StartMS, b.StartMS), cmp.Compare(a.Depth, b.Depth))
	})
	return all[:min(len(all), treeMost)]
}

package ledger

import (
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

// mostFollowed is the largest number of targets with a histogram (27 KB each). Of more targets, every n-th has one.
const mostFollowed = 1000

// Target holds the figures of one target, or of several together.
type Target struct {
	Name      string // empty: several
	Targets   int
	Arrival   Series // measured phases only, two significant digits
	Reordered int    // deliveries after one with a higher number, whole run
	Lost      int    // messages, whole run; after its end
}

// targets are all targets of a run, by number.
type targets struct {
	flows     []profile.Flow // one of each set of targets, in the order of their numbers
	step      int            // every step-th target is followed
	followed  []Series       // arrival latency of targets 0, step, 2·step, …
	others    Series
	reordered []int32
}

// newTargets also returns the number of each flow's first target. Flows with the same Target share theirs.
func newTargets(flows []profile.Flow) (t targets, firsts []int) {
	first := map[string]int{}
	number := 0
	for _, f := range flows {
		if _, ok := first[f.Target]; !ok {
			first[f.Target] = number
			number += f.Targets
			t.flows = append(t.flows, f)
		}
		firsts = append(firsts, first[f.Target])
	}
	t.step = max(1, (number+mostFollowed-1)/mostFollowed)
	t.followed = make([]Series, (number+t.step-1)/t.step)
	for i := range t.followed {
		t.followed[i] = NewCoarse()
	}
	t.others = NewCoarse()
	t.reordered = make([]int32, number)
	return t, firsts
}

// NewCoarse returns an empty series with two significant digits, which takes 27 KB instead of 190.
func NewCoarse() Series { return Series{coarse: true} }

func (t *targets) add(target int, us int64) {
	if target%t.step == 0 {
		t.followed[target/t.step].Add(us)
	} else {
		t.others.Add(us)
	}
}

// seen holds the highest message number seen by subscriber and target, to count reorderings.
type seen struct {
	firsts  []int // of each flow's targets
	targets int
	last    []int
}

func newSeen(firsts []int, targets, subscribers int) seen {
	s := seen{firsts: firsts, targets: targets, last: make([]int, targets*subscribers)}
	for i := range s.last {
		s.last[i] = -1
	}
	return s
}

// note reports whether a message comes after one with a higher number.
func (s *seen) note(subscriber, flow, target, seq int) (late bool) {
	last := &s.last[subscriber*s.targets+s.firsts[flow]+target]
	late = seq < *last
	*last = max(*last, seq)
	return late
}

// Targets returns the figures of each followed target, and of the others together (nil: none). It visits every message
// that did not arrive: call it at the end of a run.
func (l *Ledger) Targets() (followed []Target, others *Target) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lost := make([]int, len(l.targets.reordered))
	l.eachOpen(func(seq int, r *record) {
		if l.endOf(seq, r) == EndLost {
			lost[l.targetOf(seq)]++
		}
	})
	if l.targets.step > 1 {
		others = &Target{Arrival: l.targets.others.clone()}
	}
	i := 0
	for _, flow := range l.targets.flows {
		for n := range flow.Targets {
			reordered := int(l.targets.reordered[i])
			if i%l.targets.step == 0 {
				followed = append(followed, Target{
					Name: flow.TargetOf(n), Targets: 1,
					Arrival: l.targets.followed[i/l.targets.step].clone(), Reordered: reordered, Lost: lost[i],
				})
			} else {
				others.Targets++
				others.Reordered += reordered
				others.Lost += lost[i]
			}
			i++
		}
	}
	return followed, others
}

// targetOf is the number of a message's target.
func (l *Ledger) targetOf(seq int) int {
	slot := l.pacer.SlotOf(seq)
	return l.firstTargets[slot.Flow] + (slot.OfFlow+seq-slot.FirstSeq)%l.flows[slot.Flow].Targets
}

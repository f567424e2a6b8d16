package ledger

import "github.com/arrival-bench/arrival/extensions/k6/internal/profile"

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
	profile.Targets
	step      int      // every step-th target is followed
	followed  []Series // arrival latency of targets 0, step, 2·step, …
	others    Series
	reordered []int32
}

func newTargets(flows []profile.Flow) (t targets) {
	t.Targets = profile.NewTargets(flows)
	t.step = max(1, (t.Total()+mostFollowed-1)/mostFollowed)
	t.followed = make([]Series, (t.Total()+t.step-1)/t.step)
	for i := range t.followed {
		t.followed[i] = NewCoarse()
	}
	t.others = NewCoarse()
	t.reordered = make([]int32, t.Total())
	return t
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
	firsts      []int // the first target of each flow
	targets     int
	subscribers int
	last        []int
}

func newSeen(firsts []int, targets, subscribers int) seen {
	s := seen{firsts: firsts, targets: targets, subscribers: subscribers, last: make([]int, targets*subscribers)}
	for i := range s.last {
		s.last[i] = -1
	}
	return s
}

// note reports whether a message comes after one of a later turn.
func (s *seen) note(subscriber, flow, target, turn int) (late bool) {
	last := &s.last[subscriber*s.targets+s.firsts[flow]+target]
	late = turn < *last
	*last = max(*last, turn)
	return late
}

// Targets returns the figures of each followed target, and of the others together (nil: none). It visits every message
// that did not arrive: call it at the end of a run. A lost message whose target nobody knows counts at none.
func (l *Ledger) Targets() (followed []Target, others *Target) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lost := make([]int, len(l.targets.reordered))
	l.eachOpen(func(seq int, r *record) {
		if l.endOf(seq, r) == EndLost && l.pacer.TargetKnown(l.pacer.RequestOf(seq)) {
			lost[l.targetOf(seq)]++
		}
	})
	if l.targets.step > 1 {
		others = &Target{Arrival: l.targets.others.clone()}
	}
	for i, reordered := range l.targets.reordered {
		if i%l.targets.step == 0 {
			followed = append(followed, Target{
				Name: l.targets.Name(i), Targets: 1, Arrival: l.targets.followed[i/l.targets.step].clone(),
				Reordered: int(reordered), Lost: lost[i],
			})
		} else {
			others.Targets++
			others.Reordered += int(reordered)
			others.Lost += lost[i]
		}
	}
	return followed, others
}

// targetOf is the number of a message's target.
func (l *Ledger) targetOf(seq int) int {
	slot := l.pacer.SlotOf(seq)
	return l.targets.Of(slot.Flow, slot.OfFlow+seq-slot.FirstSeq)
}

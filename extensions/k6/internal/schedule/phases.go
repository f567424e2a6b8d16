package schedule

import (
	"slices"
	"sync"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

// Phases are the phases of the profile with their actual times.
type Phases struct {
	*Course
	planned []profile.Phase

	mu   sync.Mutex
	went []PhaseTimes // one for each
}

// PhaseTimes is the actual course of a phase. Times are since the epoch.
type PhaseTimes struct {
	Begun      bool
	Start, End time.Duration
	Backlog    *int // deliveries owed at its end; nil: it has not ended
	// seconds from its end until all had arrived; nil: the run did not wait, or the wait ended first
	Drained *float64
}

// NewPhases fills in the phases of the open model, which are known beforehand.
func NewPhases(c *Course, planned []profile.Phase) *Phases {
	p := &Phases{Course: c, planned: planned, went: make([]PhaseTimes, len(planned))}
	if c.Pacer.Closed() {
		return p
	}
	start := time.Duration(0)
	for i, phase := range planned {
		p.went[i] = PhaseTimes{Begun: true, Start: start, End: start + phase.Duration}
		start += phase.Duration
	}
	return p
}

// change lets see modify phase i.
func (p *Phases) change(i int, see func(s *PhaseTimes)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	see(&p.went[i])
}

// Begin records that phase i has begun, and its planned end.
func (p *Phases) Begin(i int, start, end time.Time) {
	p.change(i, func(s *PhaseTimes) { *s = PhaseTimes{Begun: true, Start: start.Sub(p.Epoch), End: end.Sub(p.Epoch)} })
}

// End records that phase i has ended.
func (p *Phases) End(i int, end time.Time) {
	owed := p.Ledger.Owed()
	p.change(i, func(s *PhaseTimes) { s.End, s.Backlog = end.Sub(p.Epoch), &owed })
}

// Drained records how long after the end of phase i all messages had arrived.
func (p *Phases) Drained(i int, took time.Duration) {
	p.change(i, func(s *PhaseTimes) { s.Drained = new(took.Seconds()) })
}

// NoteBacklogs records the backlog at the end of each phase of the open model.
func (p *Phases) NoteBacklogs(now time.Time) {
	if p.Pacer.Closed() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.went {
		if s := &p.went[i]; s.Backlog == nil && now.Sub(p.Epoch) >= s.End {
			s.Backlog = new(p.Ledger.Owed())
		}
	}
}

// Until returns the phases of a run that lasted this long, for a run in progress or one that was stopped.
func (p *Phases) Until(ran time.Duration) []PhaseTimes {
	spans := p.Now()
	for i := range spans {
		s := &spans[i]
		if s.Begun = s.Begun && s.Start < ran; s.End > ran {
			s.End, s.Backlog, s.Drained = ran, nil, nil
		}
	}
	return spans
}

// Now is a copy of the phases so far; those of the open model are there from the start.
func (p *Phases) Now() []PhaseTimes {
	p.mu.Lock()
	defer p.mu.Unlock()
	went := slices.Clone(p.went)
	if p.Pacer.Told() { // what is due after the last phase belongs to it
		last := &went[len(went)-1]
		last.End = max(last.End, p.Pacer.LastTold())
	}
	return went
}

// At names the phase at a time; nil after the last one, and while the closed model drains between two.
func (p *Phases) At(t time.Duration) *string {
	for i, s := range p.Now() {
		if s.Begun && s.Start <= t && t < s.End {
			return &p.planned[i].Name
		}
	}
	return nil
}

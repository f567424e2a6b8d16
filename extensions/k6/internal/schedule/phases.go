package schedule

import (
	"slices"
	"sync"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

// Phases are those of the profile as they went.
type Phases struct {
	*Course
	planned []profile.Phase

	mu   sync.Mutex
	went []Span // one for each
}

// Span is a phase as it went. Times are since the epoch.
type Span struct {
	Begun      bool
	Start, End time.Duration
	Backlog    *int     // deliveries owed at its end; nil: it has not ended
	Drained    *float64 // seconds from its end until nothing was owed; nil: it was not waited for, or in vain
}

// NewPhases lays out those of the open model, which are known beforehand.
func NewPhases(c *Course, planned []profile.Phase) *Phases {
	p := &Phases{Course: c, planned: planned, went: make([]Span, len(planned))}
	if c.Pacer.Closed() {
		return p
	}
	start := time.Duration(0)
	for i, phase := range planned {
		p.went[i] = Span{Begun: true, Start: start, End: start + phase.Duration}
		start += phase.Duration
	}
	return p
}

// change lets one see to phase i.
func (p *Phases) change(i int, see func(s *Span)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	see(&p.went[i])
}

// Begin notes that phase i has begun, and when it is to end.
func (p *Phases) Begin(i int, start, end time.Time) {
	p.change(i, func(s *Span) { *s = Span{Begun: true, Start: start.Sub(p.Epoch), End: end.Sub(p.Epoch)} })
}

// End notes that phase i has ended.
func (p *Phases) End(i int, end time.Time) {
	owed := p.Ledger.Owed()
	p.change(i, func(s *Span) { s.End, s.Backlog = end.Sub(p.Epoch), &owed })
}

// Drained notes how long after the end of phase i all had arrived.
func (p *Phases) Drained(i int, took time.Duration) {
	p.change(i, func(s *Span) { s.Drained = new(took.Seconds()) })
}

// NoteBacklogs keeps what is owed when phases of the open model end.
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

// Until are the phases as far as a run came that goes on, or was stopped.
func (p *Phases) Until(ran time.Duration) []Span {
	spans := p.Now()
	for i := range spans {
		s := &spans[i]
		if s.Begun = s.Begun && s.Start < ran; s.End > ran {
			s.End, s.Backlog, s.Drained = ran, nil, nil
		}
	}
	return spans
}

// Now is a copy of the phases as they went so far; those of the open model are there from the start.
func (p *Phases) Now() []Span {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.went)
}

// At names the phase of a moment; nil after the last one, and between those of the closed model, when the run drains.
func (p *Phases) At(t time.Duration) *string {
	for i, s := range p.Now() {
		if s.Begun && s.Start <= t && t < s.End {
			return &p.planned[i].Name
		}
	}
	return nil
}

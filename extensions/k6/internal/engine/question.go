package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/facts"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// questionOption is the question that the script asks of its run. Each member belongs to one kind.
type questionOption struct {
	Kind     string  `json:"kind"`
	Factor   float64 `json:"factor"`    // the factor of a recovery; 0: the default
	PerS     float64 `json:"perSecond"` // sessions that begin
	Calls    int     `json:"calls"`     // calls of one session
	Duration seconds `json:"duration"`  // sessions begin for so long
}

// factorMost is the largest factor of a recovery.
const factorMost = 1000

// checkQuestion refuses a question that the run can't answer.
func (o *Options) checkQuestion() error {
	q := o.Question
	if q == nil {
		return nil
	}
	sessions := q.PerS != 0 || q.Calls != 0 || q.Duration != 0
	switch {
	case !slices.Contains(runfile.Questions(), q.Kind):
		return fmt.Errorf("question.kind is %q; allowed: %s", q.Kind, strings.Join(runfile.Questions(), ", "))
	case q.Factor != 0 && (q.Kind != runfile.Recovering || q.Factor < 1 || q.Factor > factorMost):
		return fmt.Errorf("question.factor is %g for %q; allowed: 1 to %d for %q", q.Factor, q.Kind, factorMost,
			runfile.Recovering)
	case q.Kind == runfile.OfSessions && (q.PerS <= 0 || q.Calls < 1 || q.Duration <= 0):
		return errors.New("question of sessions needs perSecond, calls and duration, each above 0")
	case q.Kind != runfile.OfSessions && sessions:
		return fmt.Errorf("question.perSecond, calls and duration are for %q, and kind is %q", runfile.OfSessions, q.Kind)
	case q.Kind == runfile.OfConnections && o.Publishers == nil:
		return fmt.Errorf("question.kind is %q, and there are no publishers", runfile.OfConnections)
	case q.Kind == runfile.Exchange && !o.profile.Closed():
		return fmt.Errorf("question.kind is %q, and the profile has arrival rates: its phases must have vus",
			runfile.Exchange)
	}
	return nil
}

// asked is the question of the report; nil: the rate.
func (o *Options) asked() *runfile.Question {
	q := o.Question
	if q == nil {
		return nil
	}
	return &runfile.Question{
		Kind: q.Kind, BackFactor: q.Factor, SessionsPerS: q.PerS, Calls: q.Calls, Seconds: q.Duration.duration().Seconds(),
	}
}

// asks reports whether the script asks a kind of question.
func (o *Options) asks(kind string) bool { return o.Question != nil && o.Question.Kind == kind }

// counted are the facts that the rest of a report does not hold: the question, and what only the instrument knows.
func (d description) counted(planned []runfile.Phase) runfile.LoadFacts {
	o := d.run.options
	f := runfile.LoadFacts{Question: o.asked(), Drift: facts.NewDrift(d.run.quarters)}
	if p := o.Publishers; p != nil {
		f.Connections = &runfile.Connections{All: p.Connections, Brokers: 1 + len(p.More),
			During: facts.HeldDuring(planned, p.Connections, p.Rate)}
	}
	if o.asks(runfile.OfSessions) {
		begun, completed := d.run.judging.iterated()
		f.Sessions = &runfile.Sessions{Begun: begun, Completed: completed}
	}
	return f
}

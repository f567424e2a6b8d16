package facts

import (
	"math"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// sessions completes the figures of a run of sessions; nil: the script asks for none, or no step has begun.
//
// The instrument counts those that began and those that completed.
func sessions(r *runfile.Run) *runfile.Sessions {
	counted := r.Facts.Sessions
	if counted == nil || !r.Facts.Asks(runfile.OfSessions) || len(r.Steps) == 0 {
		return nil
	}
	asked, step := r.Facts.Question, &r.Steps[0]
	s := &runfile.Sessions{Begun: counted.Begun, Completed: counted.Completed}
	s.Missing = max(0, int(math.Round(asked.SessionsPerS*asked.Seconds))-s.Begun)
	s.PerS = float64(s.Completed) / asked.Seconds
	if step.DurationS > 0 {
		s.RequestsPerS = float64(step.Requests) / step.DurationS
	}
	return s
}

// clients are the rates of a growing number of clients; nil: the script asks for none, or no step has begun.
func clients(r *runfile.Run) *runfile.Clients {
	if !r.Facts.Asks(runfile.Exchange) {
		return nil
	}
	var all runfile.Clients
	for _, step := range runfile.SweepSteps(r.Steps) {
		n := *step.VUs
		one := runfile.ClientRate{Clients: n, PerS: step.CarriedPerS, EachS: step.CarriedPerS / float64(n)}
		if all.Steps = append(all.Steps, one); one.PerS > all.Most.PerS || all.Most.Clients == 0 {
			all.Most = one
		}
	}
	if len(all.Steps) == 0 {
		return nil
	}
	return &all
}

package facts

import "github.com/arrival-bench/arrival/extensions/k6/internal/runfile"

// loadFacts are the facts of a run over its load. What the instrument or an earlier report has set stays: the question,
// the drift, which is made of every second's histogram, and what the connections and sessions are counted from.
func loadFacts(r *runfile.Run) runfile.LoadFacts {
	return runfile.LoadFacts{
		Question: r.Facts.Question, Drift: r.Facts.Drift,
		Memory: memoryOf(r), Backlog: backlogOf(r),
		Connections: connections(r), Sessions: sessions(r), Clients: clients(r),
	}
}

// memoryOf is the growth of the processes' memory; nil: there is no measured phase.
func memoryOf(r *runfile.Run) *runfile.Memory {
	grown := NewMemoryGrowth(r)
	if grown == nil {
		return nil
	}
	return &runfile.Memory{MostGrewMB: MostGrowth(grown), Processes: grown}
}

// recovery is how a pipeline recovered from the burst of its load; nil: there is none.
func recovery(r *runfile.Run) *runfile.Recovery {
	return Recover(r, backFactorOf(r))
}

// backFactorOf is how many times the p99 before a burst is back to normal.
func backFactorOf(r *runfile.Run) float64 {
	if q := r.Facts.Question; q != nil && q.BackFactor > 0 {
		return q.BackFactor
	}
	return backFactor
}

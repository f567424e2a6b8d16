package facts

import "github.com/arrival-bench/arrival/extensions/k6/internal/report"

// backFactor is how many times the p99 before a burst is back to normal, unless the script says otherwise.
const backFactor = 2

// ofLoad sets the facts of a run over its load. What the instrument or an earlier report has set stays: the question,
// the drift, which is made of every second's histogram, and what the connections and sessions are counted from.
func ofLoad(r *report.Run) {
	f := &r.Facts
	factor := float64(backFactor)
	if f.Question != nil && f.Question.BackFactor > 0 {
		factor = f.Question.BackFactor
	}
	f.Recovery, f.Memory, f.Backlog = Recover(r, factor), memoryOf(r), backlogOf(r)
	f.Connections, f.Sessions, f.Clients = connections(r), sessions(r), clients(r)
}

// memoryOf is the growth of the processes' memory; nil: there is no measured phase.
func memoryOf(r *report.Run) *report.Memory {
	grown := NewMemoryGrowth(r)
	if grown == nil {
		return nil
	}
	return &report.Memory{MostGrewMB: MostGrowth(grown), Processes: grown}
}

package facts

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// Conclude sets what follows from the rest of a run, once Offer has set what was offered and the run has its verdict:
// the rates that its steps carried, the knee, the findings, and the answer.
//
// own is the script's answer; empty: none.
func Conclude(r *runfile.Run, own string) {
	carry(r.Steps)
	r.Knee = turningOf(r).knee
	r.Findings = findings(r)
	if r.ArrivalBins == nil { // merged
		r.ArrivalBins = r.Latency.Arrival.NewBins()
	}
	r.Facts = runfile.Facts{LoadFacts: loadFacts(r)}
	r.Facts.Recovery = recovery(r)
	DivideTime(r)
	r.Facts.ArrivedShare = shareOf(new(float64(r.Account.Arrived)), new(float64(r.Account.Scheduled)))
	if text := disturbed(r); text != "" {
		r.Facts.Disturbed = &text
	}
	r.Facts.Generator = generatorCost(r)
	r.Facts.Bottleneck, r.Facts.NotArrived, r.Facts.Doubts = bottleneck(r), notArrived(r), inDoubt(r)
	r.Facts.Balance, r.Facts.Targets = balance(r.Account), targets(r)
	r.Facts.Instrument, r.Facts.Host, r.Facts.Resources = checks(r), hostUse(r), resources(r)
	r.Verdict.Meaning = meaning(r)
	limit := p99Limit(r)
	r.Answer = runfile.Answer{Sentence: unusable(r), P99LimitMS: limit}
	var best held
	known := false
	if limit != nil && r.Account.Balanced {
		best, known = heldBelow(r, *limit)
		r.Answer.WithinLimit = r.Latency.Arrival.Within(time.Duration(*limit * float64(time.Millisecond)))
	}
	if r.Answer.Sentence == "" {
		if known {
			r.Answer.HeldPerS = &best.perS
		}
		r.Answer.Sentence = runfile.WithSearch(r, r.Probes,
			withFailures(r, cmp.Or(own, asked(r), sentence(r, best, known)), slowBy(r)))
	}
	screen(r, best)
}

// p99Limit is the limit on arrival p99, ms; nil: there is none.
func p99Limit(r *runfile.Run) *float64 {
	for _, rule := range r.Verdict.Rules {
		if onP99(rule) && strings.HasPrefix(rule.Op, "<") {
			return rule.Limit
		}
	}
	for _, f := range r.Figures {
		if f.Name == runfile.P99Figure {
			return f.Value
		}
	}
	return nil
}

// onP99 reports whether a rule is about arrival p99.
func onP99(rule runfile.Rule) bool {
	return rule.Name == runfile.P99Rule || rule.Name == runfile.TrendRule
}

// tooSlow reports whether the limit on arrival p99 failed the run.
func tooSlow(r *runfile.Run) bool {
	return r.Verdict.Result == runfile.Fail && slices.ContainsFunc(r.Verdict.Rules, func(rule runfile.Rule) bool {
		return onP99(rule) && rule.IsBroken()
	})
}

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

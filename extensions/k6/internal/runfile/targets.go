package runfile

import (
	"cmp"
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
)

// Targets are the targets of a run: those that stand out, and the others together.
type Targets struct {
	Total  int      `json:"total"`
	Rows   []Target `json:"rows"`   // never nil
	Others *Others  `json:"others"` // nil: there are none
}

// Target is one target. Arrival covers the measured phases, with two significant digits.
type Target struct {
	Name      string     `json:"name" merge:"first"`
	Arrival   *Quantiles `json:"arrival" merge:"mean"`
	Reordered int        `json:"reordered" merge:"sum"` // deliveries, whole run
	Lost      int        `json:"lost" merge:"sum"`      // messages, whole run
}

// Others are the other targets together.
type Others struct {
	Targets   int        `json:"targets" merge:"sum"`
	Arrival   *Quantiles `json:"arrival" merge:"mean"`
	Reordered int        `json:"reordered" merge:"sum"`
	Lost      int        `json:"lost" merge:"sum"`
}

// mostTargets is the number of targets of each kind: those that lost most, the slowest, the busiest.
const mostTargets = 50

// NewTargets picks the followed targets that stand out, the slowest first, and merges the others. rest holds the
// targets that were not followed; nil: all were.
func NewTargets(followed []ledger.Target, rest *ledger.Target) *Targets {
	rows := make([]Target, 0, len(followed))
	for i := range followed {
		t := &followed[i]
		rows = append(rows, Target{t.Name, NewQuantiles(&t.Arrival), t.Reordered, t.Lost})
	}
	shown := outstanding(rows)
	targets := &Targets{Total: len(followed), Rows: []Target{}}
	for i, row := range rows {
		if shown[i] {
			targets.Rows = append(targets.Rows, row)
			continue
		}
		if rest == nil {
			rest = &ledger.Target{Arrival: ledger.NewCoarse()}
		}
		rest.Targets++
		rest.Reordered += row.Reordered
		rest.Lost += row.Lost
		rest.Arrival.Merge(&followed[i].Arrival)
	}
	if rest != nil {
		targets.Total = len(targets.Rows) + rest.Targets
		targets.Others = &Others{rest.Targets, NewQuantiles(&rest.Arrival), rest.Reordered, rest.Lost}
	}
	slices.SortStableFunc(targets.Rows, func(a, b Target) int { return cmp.Compare(b.p99(), a.p99()) })
	return targets
}

// outstanding returns the targets that are among the first in one of the orders.
func outstanding(targets []Target) map[int]bool {
	shown := map[int]bool{}
	for _, by := range []func(Target) float64{
		func(t Target) float64 { return float64(t.Lost) }, Target.p99, Target.arrived,
	} {
		order := make([]int, len(targets))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(by(targets[b]), by(targets[a])) })
		for _, i := range order[:min(mostTargets, len(order))] {
			if by(targets[i]) > 0 {
				shown[i] = true
			}
		}
	}
	return shown
}

// p99 is 0 with too few samples.
func (t Target) p99() float64 {
	if p99 := t.Arrival.P99OrNil(); p99 != nil {
		return *p99
	}
	return 0
}

func (t Target) arrived() float64 {
	if t.Arrival == nil {
		return 0
	}
	return float64(t.Arrival.Count)
}

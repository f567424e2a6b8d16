package facts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// losses are the messages that did not arrive, by where they left their way; those of an unknown place come last.
func losses(r *runfile.Run) []runfile.Loss {
	all := []runfile.Loss{}
	rows := r.Facts.Journey.Stages
	add := func(end ledger.EndCount, n int, at int) {
		if n == 0 {
			return
		}
		l := runfile.Loss{End: end.Name, Count: n, Share: float64(n) / float64(max(1, r.Account.Scheduled))}
		if at >= 0 {
			l.Stage = &rows[at].Name
		}
		all = append(all, l)
	}
	for _, end := range ledger.MissedEnds() {
		n, behind := end.Of(r.Account), 0
		if end.Name == ledger.EndLost.String() && r.Facts.Journey.Source == runfile.ByStamps {
			behind = min(n, publishedOf(r))
			add(end, behind, len(rows)-1)
		}
		add(end, n-behind, placeOf(end, rows))
	}
	place := func(l runfile.Loss) int {
		if l.Stage == nil {
			return len(rows)
		}
		return slices.IndexFunc(rows, func(row runfile.StageRow) bool { return row.Name == *l.Stage })
	}
	slices.SortStableFunc(all, func(a, b runfile.Loss) int { return cmp.Compare(place(a), place(b)) })
	return all
}

// placeOf is the stage at which messages with an end left their way; -1: the place is unknown. A pipeline's own stages
// begin and end as ours do. What lies between has a place among them only if it has the same name, or if they are one.
func placeOf(end ledger.EndCount, rows []runfile.StageRow) int {
	last := len(rows) - 1
	if at := slices.IndexFunc(rows, func(row runfile.StageRow) bool { return row.Name == end.Stage }); at >= 0 {
		return at
	}
	ours := stages.Default()
	switch at := slices.IndexFunc(ours, func(s stages.Stage) bool { return s.Name == end.Stage }); {
	case at >= 0 && at <= 1:
		return min(at, last)
	case at == len(ours)-1 || last == 1:
		return last
	}
	return -1
}

// publishedOf counts the lost messages that reached another subscriber, among those that are named: they had passed
// every stage but the last.
func publishedOf(r *runfile.Run) (n int) {
	if r.Messages == nil {
		return 0
	}
	for _, m := range r.Messages.Named {
		if m.End == ledger.EndLost.String() && m.Delivered != nil && *m.Delivered > 0 {
			n++
		}
	}
	return n
}

// balance says whether the ends of an account add up to what was scheduled.
func balance(a runfile.Account) string {
	sum := 0
	for _, end := range ledger.Ends {
		sum += end.Of(a)
	}
	how := "as many as were scheduled, but some messages have no end or two"
	switch {
	case a.Balanced:
		return fmt.Sprintf("It balances: the ends add up to %s, as many as were scheduled.", words.Count(sum))
	case sum < a.Scheduled:
		how = words.Count(a.Scheduled-sum) + " fewer than were scheduled"
	case sum > a.Scheduled:
		how = words.Count(sum-a.Scheduled) + " more than were scheduled"
	}
	return fmt.Sprintf("It does not balance: the ends add up to %s, %s. No latency of this run can be trusted, so none "+
		"is shown.", words.Count(sum), how)
}

// targets says whether a target stands out; empty: none is listed.
func targets(r *runfile.Run) string {
	if r.Targets == nil {
		return ""
	}
	listed, lossy, others, enough := "target", 0, 0, false
	if r.Targets.Others != nil {
		listed, others = "listed target", r.Targets.Others.Lost
	}
	var slowest *runfile.Target
	for i := range r.Targets.Rows {
		t := &r.Targets.Rows[i]
		if t.Lost > 0 {
			lossy++
		}
		enough = enough || t.Arrival != nil && t.Arrival.Count >= 100
		if p99 := t.Arrival.P99OrNil(); p99 != nil && (slowest == nil || *p99 > *slowest.Arrival.P99) {
			slowest = t
		}
	}
	lost := "No " + listed + " lost a message."
	switch {
	case lossy > 0:
		lost = words.Plural(lossy, listed) + " lost messages."
	case others == 0 && r.Account.Lost > 0 && len(r.Targets.Rows) > 1: // a caller sent them
		lost = "For which targets the lost messages were is not known."
	}
	whole := r.Latency.Arrival.At(99)
	switch {
	case !r.Account.Balanced:
		return lost
	case slowest != nil && whole != nil:
		return fmt.Sprintf("%s The slowest is %s: its p99 is %s ms, that of all %s ms.", lost,
			words.Short(slowest.Name), words.MS(slowest.Arrival.P99), words.MS(whole))
	case enough:
		return lost + " Targets of several generators have no percentiles."
	}
	return lost + " Too few deliveries a target for a percentile."
}

// Misdelivered is an example of a delivery at a recipient that it was not for, as the end of a sentence; empty: none is
// named.
func Misdelivered(r *runfile.Run) string {
	if r.Messages == nil {
		return ""
	}
	for _, m := range r.Messages.Named {
		if m.End == runfile.Misdeliveries {
			what := m.ID
			if m.Target != "" { // else nobody knows for whom it was
				what += " for " + words.Printable(m.Target)
			}
			return fmt.Sprintf(", like %s, which came to %s", what, words.Printable(m.CameTo))
		}
	}
	return ""
}

// shareLeast is the least share of a run's messages that is printed in per cent: below it their number says more.
const shareLeast = 0.01

// notArrived describes the messages of a run that did not arrive; nil: all did, or still may.
func notArrived(r *runfile.Run) *runfile.NotArrived {
	ends := runfile.Missed(r.Account)
	if len(ends) == 0 || r.Account.Scheduled == 0 {
		return nil
	}
	found := &runfile.NotArrived{}
	texts := make([]string, len(ends))
	for i, end := range ends {
		found.Messages += end.N
		texts[i] = words.Count(end.N) + " " + end.Name
		if share := float64(end.N) / float64(r.Account.Scheduled); share >= shareLeast {
			texts[i] = words.Percent(share) + " " + end.Name
		}
	}
	found.Share = float64(found.Messages) / float64(r.Account.Scheduled)
	found.Text = strings.Join(texts, ", ")
	return found
}

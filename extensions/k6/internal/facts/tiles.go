package facts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

const (
	none        = "–"
	fromDue     = "percentile of an HdrHistogram, from due"
	fromSend    = "percentile of an HdrHistogram, from send"
	tilesMost   = 6   // more do not fit a line
	mostRefused = 0.5 // the p99 of requests says nothing about the pipeline if more of them were refused
)

// scope is the part of the run that tiles show: the measured phases, or one step of a sweep.
type scope struct {
	runfile.Latencies
	step  *runfile.Step // nil: the measured phases
	about string        // the step in words; empty: the measured phases
}

// scopeOf is the scope of a run's tiles. Of a sweep it is the knee, as a mix of all steps is a figure of none; without
// a knee it is the step that carried most.
func scopeOf(r *runfile.Run) scope {
	if !runfile.Sweeps(r.Steps) {
		return scope{Latencies: r.Latency}
	}
	steps := runfile.SweepSteps(r.Steps)
	at, why := 0, "carried most"
	for i := range steps {
		if steps[i].CarriedPerS > steps[at].CarriedPerS {
			at = i
		}
	}
	if r.Knee != nil {
		why = "the knee"
		at = slices.IndexFunc(steps, func(s runfile.Step) bool { return *s.VUs == r.Knee.VUs })
	}
	if at < 0 { // below the first step
		at, why = 0, "beyond the knee"
	}
	about := fmt.Sprintf("at %s, %s", words.Plural(*steps[at].VUs, "VU"), why)
	return scope{Latencies: steps[at].Latency, step: &steps[at], about: about}
}

// tiles are the figures that matter most; none without a sample.
func tiles(r *runfile.Run, best held) []runfile.Tile {
	of := scopeOf(r)
	all := []runfile.Tile{}
	if of.Arrival.Count+of.HTTP.Count == 0 || !r.Account.Balanced {
		return all
	}
	asked := questionTiles(r)
	all = append(all, asked...)
	all = append(all, p99Tile(r, of))
	if refusedShare(r) <= mostRefused {
		all = append(all, requestsTile(r, of))
	}
	all = append(all, p50Tile(r, of), missedTile(r))
	if len(asked) == 0 {
		all = append(all, rateTile(r, of, best))
	}
	if len(all) == tilesMost {
		return all
	}
	if tile := hostTile(r); tile != nil {
		all = append(all, *tile)
	} else if tile := busiestTile(r); tile != nil {
		all = append(all, *tile)
	}
	return all
}

// refusedShare is the share of the requests or messages that the pipeline did not accept.
func refusedShare(r *runfile.Run) float64 {
	a := r.Account
	return max(float64(a.Rejected)/float64(max(1, a.Scheduled)),
		float64(a.Requests.Failed)/float64(max(1, a.Requests.Sent)))
}

// latencyTile is the tile of a percentile in ms.
func latencyTile(name string, value *float64, samples int64, estimator, doubt string) runfile.Tile {
	tile := runfile.Tile{Name: name, Value: value, Text: none, Samples: &samples, Estimator: estimator}
	if value != nil {
		tile.Unit, tile.Doubt, tile.Text = "ms", doubt, doubted(words.MS(value), doubt)
	}
	return tile
}

func p99Tile(r *runfile.Run, of scope) runfile.Tile {
	tile := latencyTile("Arrival p99", of.Arrival.At(99), of.Arrival.Count, fromDue, doubtOf(r, runfile.ArrivalClaim))
	if tile.Value == nil {
		tile.Note = "too few deliveries"
		return tile
	}
	tile.Worry = slices.ContainsFunc(r.Verdict.Rules, func(rule runfile.Rule) bool {
		return onP99(rule) && rule.IsBroken() && rule.Result == runfile.Fail
	})
	limit := ""
	switch {
	case r.Answer.P99LimitMS == nil && r.Run.Model == runfile.Closed:
		limit = "sent → arrived"
	case r.Answer.P99LimitMS == nil:
		limit = "due → arrived"
	default:
		limit = "limit " + words.Figure(r.Answer.P99LimitMS) + " ms"
		if within := r.Answer.WithinLimit; within != nil && of.step == nil {
			limit += ", " + words.Percent(*within) + " within"
		}
	}
	interval := ""
	if i := r.Facts.P99Interval; i != nil {
		interval = fmt.Sprintf("%.0f %% interval %s to %s ms", 100*i.Level, words.MS(&i.LowMS), words.MS(&i.HighMS))
	}
	tile.Note = joined("; ", of.about, limit, interval)
	return tile
}

func requestsTile(r *runfile.Run, of scope) runfile.Tile {
	tile := latencyTile(r.Run.Protocol+" p99", of.HTTP.At(99), of.HTTP.Count, fromSend,
		doubtOf(r, runfile.RequestsClaim))
	requests := words.Plural(int(of.HTTP.Count), "request")
	tile.Note = "sent → answer, " + requests
	switch {
	case refusedShare(r) > 0 && refusalsAnswered(r):
		tile.Note = "sent → answer, of all " + requests + ", refusals included"
	case refusedShare(r) > 0:
		tile.Note = "sent → answer, of " + requests + " that got one"
	}
	tile.Note = joined("; ", of.about, tile.Note)
	return tile
}

func p50Tile(r *runfile.Run, of scope) runfile.Tile {
	tile := latencyTile("Arrival p50", of.Arrival.At(50), of.Arrival.Count, fromDue, doubtOf(r, runfile.ArrivalClaim))
	if of.Arrival.Max == nil {
		tile.Note = "too few deliveries"
		return tile
	}
	tile.Note = joined("; ", of.about, "max "+words.MS(of.Arrival.Max)+" ms")
	return tile
}

// refusalsAnswered reports whether failed requests are among those that were answered: with a status that is no 2xx, or
// nothing is known of their errors. A timeout is no answer.
func refusalsAnswered(r *runfile.Run) bool {
	known := false
	for _, e := range r.Errors {
		if e.Stage != runfile.RequestStage {
			continue
		}
		if strings.HasPrefix(e.Class, "HTTP ") {
			return true
		}
		known = true
	}
	return !known
}

// missedTile counts the messages that did not arrive, and names their ends.
func missedTile(r *runfile.Run) runfile.Tile {
	all, ends := 0, []string{}
	missed := runfile.Missed(r.Account)
	for _, end := range missed {
		all += end.N
		ends = append(ends, words.Count(end.N)+" "+end.Name)
	}
	doubt := doubtOf(r, runfile.AccountClaim)
	tile := runfile.Tile{Name: "Not arrived", Value: new(float64(all)), Estimator: "count", Doubt: doubt,
		Text: doubted(words.Count(all), doubt), Note: "of " + words.Plural(r.Account.Scheduled, "message")}
	if pending := r.Account.Pending; all == 0 && pending > 0 {
		tile.Note += fmt.Sprintf("; %s still under way at the end", words.Count(pending))
	}
	if all == 0 {
		return tile
	}
	if len(missed) == 1 {
		ends[0] = missed[0].Name
	}
	tile.Note = fmt.Sprintf("%s of %s: %s", words.Percent(float64(all)/float64(max(1, r.Account.Scheduled))),
		words.Count(r.Account.Scheduled), strings.Join(ends, ", "))
	tile.Worry = slices.ContainsFunc(r.Verdict.Rules, func(rule runfile.Rule) bool {
		return rule.IsBroken() && slices.ContainsFunc(ledger.Ends[:],
			func(end ledger.EndCount) bool { return end.Missed && end.Name == rule.Name })
	})
	if r.Verdict.Result == runfile.Pass {
		tile.Note += "; the script allows it"
	}
	return tile
}

// doubtOf returns the word by which a tile shows that its claim is in doubt; empty: it is not.
func doubtOf(r *runfile.Run, claim string) string {
	for _, d := range r.Facts.Doubts {
		if d.Claim == claim {
			return map[string]string{runfile.TooHigh: runfile.AtMost, runfile.TooLow: runfile.AtLeast,
				runfile.Either: runfile.About}[d.Direction]
		}
	}
	return ""
}

// doubted puts a doubt before a figure.
func doubted(text, doubt string) string {
	return map[string]string{runfile.AtMost: "at most ", runfile.AtLeast: "at least ", runfile.About: "≈ "}[doubt] + text
}

// joined joins the parts that are not empty.
func joined(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), separator)
}

// hostTile is the CPU of a host that generator and pipeline share and that had no core left for some seconds; nil:
// there is no such host.
func hostTile(r *runfile.Run) *runfile.Tile {
	seconds := measuredSeconds(r)
	var used []float64
	for _, s := range seconds {
		if host := s.Generator.HostPercent; host != nil {
			used = append(used, *host)
		}
	}
	from, to := longestStretch(len(seconds), 1, func(i int) (int, bool) {
		host := seconds[i].Generator.HostPercent
		return seconds[i].T, host != nil && *host >= Full
	})
	if !sharesHost(r) || from < 0 {
		return nil
	}
	if h := host(r); h != nil {
		if first, last := fullSpan(h); first >= 0 { // the finding's: it has the seconds that are not measured too
			from, to = first, last
		}
	}
	mean := meanOr0(used)
	note := fmt.Sprintf("of generator and pipeline; saturated from %s to %s", moment(from), moment(to))
	if steal, _, known := Steal(r); known {
		note += fmt.Sprintf("; steal %s %% on average", words.MS(&steal))
	}
	return &runfile.Tile{Name: "Host CPU", Value: &mean, Unit: "% of all cores", Text: words.MS(&mean), Note: note,
		Estimator: "mean of the measured seconds", Samples: new(int64(len(used)))}
}

// busiestTile is the process that has the least of a core left; nil: no process reported.
func busiestTile(r *runfile.Run) *runfile.Tile {
	var most *runfile.Resource
	for i := range r.Resources {
		one := &r.Resources[i]
		if one.Process == "host" || one.CPUPercent.Max == nil {
			continue
		}
		if most == nil || *one.CPUPercent.Max > *most.CPUPercent.Max {
			most = one
		}
	}
	if most == nil {
		return nil
	}
	use := most.CPUPercent
	return &runfile.Tile{Name: "Busiest process", Value: use.Max, Unit: "% of a core", Text: words.MS(use.Max),
		Note:      fmt.Sprintf("%s, at most; %s %% on average", words.Short(most.Process), words.MS(use.Mean)),
		Estimator: "highest second"}
}

package judge

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// figure is a figure of a run that a threshold may be on.
type figure struct {
	name   string // the name of its rule
	unit   string // the unit of its limit: ms, /s, %; empty: a count
	things string // unit of its rule, if that differs
	stage  string // only runs with this stage have it: queue, spans.queued-claimed; empty: all do
	of     func(r *runfile.Run) *float64
}

// statistics of a latency, by name. A percentile needs enough samples (see Latency.At).
var statistics = map[string]func(l runfile.Latency) *float64{
	"min":  func(l runfile.Latency) *float64 { return l.Min },
	"mean": func(l runfile.Latency) *float64 { return l.Mean },
	"max":  func(l runfile.Latency) *float64 { return l.Max },
	"p50":  percentile(50), "p75": percentile(75), "p90": percentile(90), "p95": percentile(95), "p99": percentile(99),
	"p999": percentile(99.9),
}

func percentile(p float64) func(l runfile.Latency) *float64 {
	return func(l runfile.Latency) *float64 { return l.At(p) }
}

// spanStatistics are the statistics of a stage between two marks of spans.
var spanStatistics = map[string]func(s runfile.SpansStage) *float64{
	"mean": func(s runfile.SpansStage) *float64 { return s.Mean },
	"p50":  func(s runfile.SpansStage) *float64 { return s.P50 },
	"p99":  func(s runfile.SpansStage) *float64 { return s.P99 },
	"max":  func(s runfile.SpansStage) *float64 { return s.Max },
}

// rates of the measured phases, and what they count.
var rates = map[string]struct {
	things string
	of     func(s runfile.Step) int
}{
	"requests": {"requests/s", func(s runfile.Step) int { return s.Requests }},
	"accepted": {"messages/s", func(s runfile.Step) int { return s.Accepted }},
	"arrived":  {"deliveries/s", func(s runfile.Step) int { return s.Arrived }},
}

var (
	spansName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,15}-[a-z][a-z0-9_]{0,15}$`)
	stageName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,15}$`)
)

// figureOf finds a figure by its name. The error says what is allowed.
func figureOf(name string) (figure, error) {
	if strings.HasPrefix(name, "arrival.within") {
		metric, within, ok := runfile.WithinMetric(name)
		if !ok {
			return figure{}, runfile.CheckWithin(name)
		}
		return figure{name: metric, unit: "%", of: func(r *runfile.Run) *float64 {
			share := r.Latency.Arrival.Within(within)
			if share == nil {
				return nil
			}
			return new(math.Round(*share*1e14) / 1e12) // 0.949 × 100 is below 94.9 in binary
		}}, nil
	}
	head, tail, dotted := strings.Cut(name, ".")
	var known map[string]figure // figures by the name after the point
	switch {
	case head == "account":
		known = countFigures()
	case head == "rate":
		known = rateFigures()
	case head == "spans":
		marks, _, _ := strings.Cut(tail, ".")
		if !spansName.MatchString(marks) {
			marks = "queued-claimed"
		}
		known = spansFigures(marks)
	case stageName.MatchString(head):
		known = latencyFigures(head)
	default:
		return figure{}, fmt.Errorf("%s is not a figure of a run; allowed: arrival.p99, account.lost, rate.arrived, …",
			name)
	}
	if f, ok := known[tail]; ok {
		return f, nil
	}
	var allowed []string
	for _, one := range slices.Sorted(maps.Keys(known)) {
		allowed = append(allowed, head+"."+one)
	}
	if head == "arrival" {
		allowed = append(allowed, "arrival.within(250ms)")
	}
	wrong := head + " is not a single figure"
	if dotted {
		wrong = head + " has no " + tail
	}
	return figure{}, fmt.Errorf("%s; allowed: %s", wrong, strings.Join(allowed, ", "))
}

// latencyFigures are the statistics of a latency: of the arrival, from send, of requests, of the canary, or of a stage.
func latencyFigures(series string) map[string]figure {
	stage := ""
	latency := func(r *runfile.Run) runfile.Latency { return r.Latency.Stages[series] }
	switch series {
	case "arrival":
		latency = func(r *runfile.Run) runfile.Latency { return r.Latency.Arrival }
	case "from_send":
		latency = func(r *runfile.Run) runfile.Latency { return r.Latency.FromSend }
	case "http":
		latency = func(r *runfile.Run) runfile.Latency { return r.Latency.HTTP }
	case "canary":
		latency = func(r *runfile.Run) runfile.Latency {
			if r.Canary == nil {
				return runfile.Latency{}
			}
			return r.Canary.Latency
		}
	default:
		stage = series
	}
	all := map[string]figure{}
	for statistic, of := range statistics {
		name := series + "." + statistic
		if name == "arrival.p99" {
			name = runfile.P99Rule
		}
		all[statistic] = figure{name: name, unit: "ms", stage: stage,
			of: func(r *runfile.Run) *float64 { return of(latency(r)) }}
	}
	return all
}

// spansFigures are the statistics of a stage between two marks of spans.
func spansFigures(marks string) map[string]figure {
	all := map[string]figure{}
	for statistic, of := range spanStatistics {
		tail := marks + "." + statistic
		all[tail] = figure{name: "spans." + tail, unit: "ms", stage: "spans." + marks,
			of: func(r *runfile.Run) *float64 {
				stage, _ := spansStage(r, marks)
				return of(stage)
			}}
	}
	return all
}

// countFigures are the counts of an account: what was scheduled, its ends, the counts beside them, and failed requests.
func countFigures() map[string]figure {
	all := map[string]figure{}
	add := func(name, things string, of func(a runfile.Account) int) {
		all[name] = figure{name: "account." + name, things: things,
			of: func(r *runfile.Run) *float64 { return new(float64(of(r.Account))) }}
	}
	add("scheduled", "messages", func(a runfile.Account) int { return a.Scheduled })
	for _, end := range ledger.Ends {
		add(end.Name, "messages", end.Of)
	}
	for _, count := range ledger.Beside {
		add(count.Name, "deliveries", count.Of)
	}
	add(runfile.FailedRequests, "requests", func(a runfile.Account) int { return a.Requests.Failed })
	return all
}

// rateFigures are what the measured phases had a second.
func rateFigures() map[string]figure {
	all := map[string]figure{}
	for name, rate := range rates {
		all[name] = figure{name: "rate." + name, unit: "/s", things: rate.things,
			of: func(r *runfile.Run) *float64 { return rateOf(r, rate.of) }}
	}
	return all
}

// rateOf is what the measured phases had a second; nil: there are none.
func rateOf(r *runfile.Run, of func(s runfile.Step) int) *float64 {
	sum, seconds := 0, 0.0
	for _, step := range r.Steps {
		if step.Measured {
			sum, seconds = sum+of(step), seconds+step.DurationS
		}
	}
	if seconds == 0 {
		return nil
	}
	return new(float64(sum) / seconds)
}

// spansStage is the stage of a run between two marks of spans: queued-claimed.
func spansStage(r *runfile.Run, marks string) (found runfile.SpansStage, ok bool) {
	if r.Spans == nil || len(r.Spans.Stages) == 0 {
		return found, false
	}
	for _, stage := range append(slices.Clone(r.Spans.Stages), r.Spans.Arrival) {
		if stage.From+"-"+stage.To == marks {
			return stage, true
		}
	}
	return found, false
}

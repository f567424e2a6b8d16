package render

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// series is a distribution that terminal and Markdown show of a run, in ms, with the digits of num.
type series struct {
	name string
	runfile.Latency
	of   string // what a sample is
	note string // what the terminal shows in place of the number of samples
}

// seriesOf returns the distributions of the whole run, in the order of reports.
func seriesOf(r *runfile.Run) []series {
	all := []series{{"arrival", r.Latency.Arrival, "deliveries in the measured phases", ""}}
	if r.Run.Model != runfile.Closed { // in the closed model both figures are equal
		all = append(all, series{"from send", r.Latency.FromSend, "deliveries",
			"uncorrected: without the generator's lateness"})
	}
	return append(all, series{r.Run.Protocol, r.Latency.HTTP, "requests", ""})
}

// deliveries are the counts of deliveries, in a line.
func deliveries(r *runfile.Run, separator string) string {
	a := r.Account
	all := []string{fmt.Sprintf("%s of %s deliveries", words.Count(a.Deliveries.Arrived), words.Count(a.Deliveries.Due))}
	for _, count := range ledger.Beside {
		if n := count.Of(a); n > 0 || !count.Rare {
			all = append(all, words.Count(n)+" "+count.Name)
		}
	}
	return strings.Join(all, separator)
}

// foreignText says what foreign messages are, and shows the first where it is known.
func foreignText(r *runfile.Run) string {
	text := "messages without an id that this run sent, like answers to subscriptions, or of another sender"
	if r.Scene != nil && r.Scene.Sample != "" {
		text += "; the first: " + r.Scene.Sample
	}
	return text
}

// latencies writes the latencies of the run, then of each stage.
func (s *summary) latencies(r *runfile.Run) {
	l := r.Latency
	for i, one := range seriesOf(r) {
		s.line(one.name, "%s   %s", quantiles(one.Latency), cmp.Or(one.note, "from "+words.Count(int(one.Count))+" "+one.of))
		if a := r.Answer; i == 0 && a.WithinLimit != nil {
			s.line("within", "%s arrived within the limit of %s ms", words.Percent(*a.WithinLimit), words.Figure(a.P99LimitMS))
		}
	}
	if c := r.Canary; c != nil {
		latency := ""
		if c.Latency.Count > 0 {
			latency = fmt.Sprintf(" · p50 %s · max %s ms", words.MS(c.Latency.At(50)), words.MS(c.Latency.Max))
		}
		s.line("canary", "%s of %s%s", words.Count(c.Arrived), words.Count(c.Sent), latency)
	}

	s.table("stage", []string{fmt.Sprintf(stageRow, "mean", "share", "p50", "p99", "max") +
		tailColumn(r.Tail, "    ", "of slowest 1 %")})
	row := func(stage string, part runfile.Latency, note string) {
		text := fmt.Sprintf(stageRow+" ms%s%s", words.MS(part.Mean), share(part, l.Arrival), words.MS(part.At(50)),
			words.MS(part.At(99)), words.MS(part.Max),
			tailColumn(r.Tail, " ", tailShare(r.Tail, stage)), words.Printable(note))
		if s.columns > 0 && indent+utf8.RuneCountInString(text) > s.columns { // the note stands below
			text = strings.TrimSuffix(text, words.Printable(note))
			defer s.line("", "%s", strings.TrimSpace(note))
		}
		s.row("  "+stage, text)
	}
	for i, stage := range r.Stages {
		switch part := l.Stages[stage.Name]; {
		case part.Count > 0:
			row(stage.Name, part, withinText(r.BoundOf(stage)))
		case i == 1 && l.FromSend.Count > 0: // the pipeline sends no stamps, so the stages in between are one
			row(stage.Name+" …", l.FromSend, "   "+r.Stages.Rest()+" as one: the pipeline sends no stamps")
			return
		default:
			s.line("  "+stage.Name, "%8s", "n/a")
		}
	}
}

// level is a figure that may be unknown.
func level(value *float64) string {
	if value == nil {
		return words.None
	}
	return words.Level(*value)
}

const stageRow = "%8s %8s %8s %8s %8s"

// share is the part's share of the whole.
func share(part, whole runfile.Latency) string {
	if part.Mean == nil || whole.Mean == nil || *whole.Mean <= 0 {
		return "–"
	}
	return words.Percent(*part.Mean / *whole.Mean)
}

func quantiles(l runfile.Latency) string {
	return fmt.Sprintf("p50 %s · p95 %s · p99 %s · max %s ms", words.MS(l.At(50)), words.MS(l.At(95)), words.MS(l.At(99)),
		words.MS(l.Max))
}

// withinText is the text of a bound after a figure; empty: there is none.
func withinText(bound *float64) string {
	if bound == nil {
		return ""
	}
	return " ±" + words.MS(bound)
}

package report

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
)

var colours = map[string]string{Pass: "32", Fail: "31", Invalid: "33", Incomplete: "33"}

// Text is the summary on the terminal: what a person reads in ten seconds. where is the path of the page.
func Text(r *Run, where string, colour bool) string {
	var b strings.Builder
	line := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "  %-11s %s\n", Printable(label), Printable(fmt.Sprintf(format, args...)))
	}
	verdict := strings.ToUpper(r.Verdict.Result)
	if colour {
		verdict = "\x1b[1;" + colours[r.Verdict.Result] + "m" + verdict + "\x1b[0m"
	}
	fmt.Fprintf(&b, "\n  %-11s %s\n", verdict, Printable(r.Run.Name))
	if g := r.Run.Generator; g != nil {
		line("", "generator %d of %d: all of them together are the run, npm run report -- merge", g.Number, g.Of)
	}
	for _, reason := range r.Verdict.Reasons {
		line("", "%s", reason)
	}
	if len(r.Verdict.Stands) > 0 {
		line("", "The latency of %s requests can be trusted; when messages arrived can not.", r.Run.protocol())
	}
	b.WriteString("\n")

	l := r.Latency
	if r.Account.Balanced {
		line("arrival", "%s   from %s deliveries in the measured phases", quantiles(l.Arrival), count(int(l.Arrival.Count)))
		if r.Run.Model != Closed { // where a message is due when it is sent, it is the same figure
			line("from send", "%s   uncorrected: without the generator's lateness", quantiles(l.FromSend))
		}
		line(r.Run.protocol(), "%s   from %s requests", quantiles(l.HTTP), count(int(l.HTTP.Count)))
		if c := r.Canary; c != nil {
			line("canary", "%s", canary(c))
		}
		b.WriteString("\n")
		line("stage", "%8s %6s %8s %8s %8s", "mean", "share", "p50", "p99", "max")
		for i := range ledger.Stages {
			name := i.String()
			s := l.Stages[name]
			if s.Count == 0 {
				if i == ledger.Request && l.FromSend.Count > 0 { // nobody told the stages between: they are known as one
					line("  request …", "%8s %6s %8s %8s %8s ms   request to delivery as one: the pipeline told no stamps", num(l.FromSend.Mean),
						share(l.FromSend, l.Arrival), num(l.FromSend.at(50)), num(l.FromSend.at(99)), num(l.FromSend.Max))
					break
				}
				if i > ledger.Queue && l.Stages[ledger.Queue.String()].Count > 0 {
					line("  "+name, "%8s   the message had arrived when it was in the queue", "n/a")
					continue
				}
				line("  "+name, "%8s", "n/a")
				continue
			}
			line("  "+name, "%8s %6s %8s %8s %8s ms%s", num(s.Mean), share(s, l.Arrival), num(s.at(50)), num(s.at(99)), num(s.Max), within(r, i))
		}
		if rows := stepsText(r); rows != nil {
			b.WriteString("\n")
			for _, row := range rows {
				line("", "%s", row)
			}
		}
		if k := r.Knee; k != nil {
			b.WriteString("\n")
			line("knee", "%s", knees(k))
		}
		if rows := sampledText(r); rows != nil {
			b.WriteString("\n")
			for i, row := range rows {
				line([]string{"sampled", ""}[min(i, 1)], "%s", row)
			}
		}
	} else {
		line("latency", "not shown: the account does not balance")
	}

	if len(r.Figures) > 0 && r.Account.Balanced {
		b.WriteString("\n")
		for _, f := range scriptFigures(r.Figures, "n/a") {
			line("figure", "%s: %s", f[0], f[1])
		}
	}

	a := r.Account
	b.WriteString("\n")
	sign := "="
	if !a.Balanced {
		sign = "≠"
	}
	line("account", "%s scheduled %s %s dropped + %s rejected + %s unknown + %s arrived", count(a.Scheduled), sign,
		count(a.Dropped), count(a.Rejected), count(a.Unknown), count(a.Arrived))
	rest := fmt.Sprintf("+ %s dead-lettered + %s queued + %s lost", count(a.DeadLettered), count(a.Queued), count(a.Lost))
	if a.Pending > 0 {
		rest += fmt.Sprintf(" + %s pending", count(a.Pending))
	}
	line("", "%s", rest)
	line("", "%s of %s deliveries · %s duplicates · %s reordered · %s negative · %s foreign",
		count(a.Deliveries.Arrived), count(a.Deliveries.Due), count(a.Duplicates), count(a.Reordered), count(a.Negative),
		count(a.Foreign))
	line("clock", "%s", clock(r.Clock))
	if told := instrument(r); told != "" {
		line("instrument", "%s", told)
	}
	for _, p := range r.Generators {
		own := ""
		if p.Scheduled != nil {
			own = fmt.Sprintf(" · %s scheduled · %s arrived · lateness p99 %s ms · CPU max %s %%", count(*p.Scheduled), count(*p.Arrived),
				num(p.ScheduleP99MS), num(p.CPUPercentMax))
		}
		line(fmt.Sprintf("generator %d", p.Number), "%s · %s%s", p.Segment, p.Result, own)
	}
	for _, e := range r.Errors {
		line("error", "%s × %s at %s: %s", count(e.Count), e.Class, e.Stage, e.Example)
	}
	b.WriteString("\n")
	line("report", "%s", where)
	return b.String() + "\n"
}

var obeyed = regexp.MustCompile(`[\p{Cc}\x{61c}\x{200e}\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}]`)

// Printable is text that somebody else wrote, for a terminal: what that would obey, and what hides the order of letters, stands there as
// JSON writes it. pipeline/common/printable.ts does the same.
func Printable(text string) string {
	return obeyed.ReplaceAllStringFunc(strings.ToValidUTF8(text, "\uFFFD"), func(one string) string {
		switch one {
		case "\n":
			return `\n`
		case "\r":
			return `\r`
		case "\t":
			return `\t`
		}
		r, _ := utf8.DecodeRuneInString(one)
		return fmt.Sprintf(`\u%04x`, r)
	})
}

// share is what a part takes of the whole.
func share(part, whole Latency) string {
	if part.Mean == nil || whole.Mean == nil || *whole.Mean <= 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", *part.Mean / *whole.Mean * 100)
}

func quantiles(l Latency) string {
	return fmt.Sprintf("p50 %s · p95 %s · p99 %s · max %s ms", num(l.at(50)), num(l.at(95)), num(l.at(99)), num(l.Max))
}

func knees(k *Knee) string {
	if k.VUs == 0 {
		s := fmt.Sprintf("below %s: with %[2]s a backlog grows already", plural(k.Next, "VU"), count(k.Next))
		if k.Stage != "" {
			s += ", and " + k.Stage + " takes longest"
		}
		return s
	}
	s := fmt.Sprintf("%s: with %s p50 has taken off for good", plural(k.VUs, "VU"), count(k.Next))
	if k.Stage != "" {
		s += ", and " + k.Stage + " has grown most"
	}
	return s
}

func canary(c *Canary) string {
	s := fmt.Sprintf("%s of %s", count(c.Arrived), count(c.Sent))
	if c.Latency.Count > 0 {
		s += fmt.Sprintf(" · p50 %s · max %s ms", num(c.Latency.at(50)), num(c.Latency.Max))
	}
	return s
}

// CutOff says where a run ended that was to go on: ran is how long it lasted, planned how long its load was to be; 0: nobody knew.
func CutOff(ran, planned time.Duration) string {
	switch {
	case ran <= 0:
		return "cut off before it began"
	case ran < planned:
		return fmt.Sprintf("cut off at %s of %s", minutes(ran), minutes(planned))
	case planned == 0:
		return fmt.Sprintf("cut off at %s, before everything was in", minutes(ran))
	}
	return fmt.Sprintf("cut off at %s, after its load of %s and before everything was in", minutes(ran), minutes(planned))
}

// minutes writes a moment of the run as the page does: 0:07, 1:02:03.
func minutes(d time.Duration) string {
	s := int(d.Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

func clock(c Clock) string {
	s := fmt.Sprintf("%s, bound ±%.3f ms", c.Reference, c.BoundMS)
	if c.LimitMS != nil {
		s += fmt.Sprintf(", limit %s ms", num(c.LimitMS))
	}
	if c.DriftPPM == nil {
		return s
	}
	if drift := strconv.FormatFloat(*c.DriftPPM, 'f', 1, 64); drift != "0.0" && drift != "-0.0" {
		s += ", drift " + drift + " ppm"
	}
	return s
}

// instrument says what there is to say against the instrument; mostly nothing.
func instrument(r *Run) string {
	var told []string
	if gaps := r.Health.Gaps; len(gaps) > 0 {
		lasted, open := 0.0, 0
		for _, g := range gaps {
			if g.ToS == nil {
				open++
			} else {
				lasted += *g.ToS - g.FromS
			}
		}
		s := fmt.Sprintf("%s, %.1f s", plural(len(gaps), "gap"), lasted)
		if open > 0 {
			s += fmt.Sprintf(" and %s open", count(open))
		}
		told = append(told, s)
	}
	if n := r.Health.SamplesDiscarded; n > 0 {
		told = append(told, plural(n, "sample")+" discarded")
	}
	if n := r.Account.Requests.Retried; n > 0 {
		told = append(told, plural(n, "request")+" repeated")
	}
	return strings.Join(told, " · ")
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + one + "s"
}

// num writes a number with three significant digits, of milliseconds no more than the histogram holds: at most three decimals, and
// none from 100 on. page/format.ts writes the same.
func num(value *float64) string {
	if value == nil {
		return "n/a"
	}
	if *value == 0 {
		return "0"
	}
	_, exponent, _ := strings.Cut(strconv.FormatFloat(*value, 'e', 2, 64), "e")
	magnitude, _ := strconv.Atoi(exponent)
	return grouped(strconv.FormatFloat(*value, 'f', min(3, max(0, 2-magnitude)), 64))
}

// figure writes a whole number as one, and any other with three digits.
func figure(value *float64) string {
	if value != nil && *value == math.Trunc(*value) && math.Abs(*value) < 1e15 {
		return count(int(*value))
	}
	return num(value)
}

// scriptFigures are the names and the values, with their units, of what scripts say; one that several instances have told has a value of each.
func scriptFigures(figures []Figure, none string) (shown [][2]string) {
	for i, f := range figures {
		same := func(o Figure) bool { return o.Name == f.Name }
		if slices.ContainsFunc(figures[:i], same) {
			continue
		}
		var values []string
		unit := ""
		for _, o := range figures {
			if !same(o) {
				continue
			}
			if o.Value == nil {
				values = append(values, none)
				continue
			}
			values = append(values, figure(o.Value))
			unit = f.Unit
		}
		shown = append(shown, [2]string{f.Name, strings.TrimSpace(strings.Join(values, " · ") + " " + unit)})
	}
	return shown
}

func count(n int) string { return grouped(strconv.Itoa(n)) }

// grouped puts separators between the thousands of a number.
func grouped(s string) string {
	end := strings.IndexByte(s, '.')
	if end < 0 {
		end = len(s)
	}
	for i := end - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

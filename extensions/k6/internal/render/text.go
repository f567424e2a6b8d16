package render

import (
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

var colours = map[string]string{runfile.Pass: "32", runfile.Fail: "31", runfile.Invalid: "33", runfile.Incomplete: "33"}

// Screen is what a summary is printed on.
type Screen struct {
	Terminal bool
	Colour   bool
	Columns  int // width of the terminal; 0: lines are as long as they get
}

// NewScreen describes this process's standard output.
func NewScreen(isTerminal, noColour bool) Screen {
	if !isTerminal {
		return Screen{}
	}
	s := Screen{Terminal: true, Colour: !noColour && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
	if columns, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		s.Columns = columns
	}
	return s
}

// Link is a path as the screen shows it: a terminal opens a file:// link with a click, and programs read the path.
func (s Screen) Link(path string) string {
	whole, err := filepath.Abs(path)
	if err != nil || !s.Terminal {
		return path
	}
	return (&url.URL{Scheme: "file", Path: whole}).String()
}

// summary is the text that Text writes, line by line.
type summary struct {
	strings.Builder
	columns int
}

func (s *summary) line(label, format string, args ...any) {
	s.row(label, strings.Join(fold(words.Printable(fmt.Sprintf(format, args...)), s.columns-indent),
		"\n"+strings.Repeat(" ", indent)))
}

// indent is the column in which the text of each line begins.
const indent = 14

// row writes a line that stays as it is, like that of a table.
func (s *summary) row(label, text string) {
	fmt.Fprintf(s, "  %-11s %s\n", words.Printable(label), text)
}

// paragraph writes lines after an empty line, if there are any, with a label before the first.
func (s *summary) paragraph(label string, lines []string) { s.paragraphs(label, lines, s.line) }

// table is a paragraph whose lines are rows.
func (s *summary) table(label string, lines []string) {
	s.paragraphs(label, lines, func(label, _ string, text ...any) { s.row(label, words.Printable(fmt.Sprint(text...))) })
}

func (s *summary) paragraphs(label string, lines []string, write func(label, format string, args ...any)) {
	for i, line := range lines {
		if i == 0 {
			s.WriteString("\n")
		} else {
			label = ""
		}
		write(label, "%s", line)
	}
}

// Text is the summary for the terminal. where is the path of the page.
func Text(r *runfile.Run, where string, screen Screen) string {
	s := &summary{columns: screen.Columns}
	verdict := strings.ToUpper(r.Verdict.Result)
	padding := strings.Repeat(" ", max(0, 11-len(verdict)))
	if screen.Colour {
		verdict = "\x1b[1;" + colours[r.Verdict.Result] + "m" + verdict + "\x1b[0m"
	}
	fmt.Fprintf(s, "\n  %s%s %s\n", verdict, padding, words.Printable(r.Run.Name))
	if g := r.Run.Generator; g != nil {
		s.line("", "generator %d of %d: npm run report -- merge makes one run of all", g.Number, g.Of)
	}
	if r.Verdict.Result != runfile.Pass && r.Verdict.Meaning != "" {
		s.line("", "%s", r.Verdict.Meaning)
	}
	if r.Answer.Sentence != "" {
		s.line("", "%s", r.Answer.Sentence)
	}
	if rates := rates(r.Run); rates != "" {
		s.line("", "%s", rates)
	}
	for _, reason := range r.Facts.Reasons {
		s.line("", "%s", reason)
	}
	for _, doubt := range r.Verdict.Doubts {
		s.line("in doubt", "%s", doubt)
	}
	for _, f := range r.Findings {
		if f.Worry && !r.Says(f) {
			s.line("warning", "%s", f.Text)
		}
		if f.Next != "" {
			s.line("next", "%s", f.Next)
		}
	}
	s.WriteString("\n")
	if r.Account.Balanced {
		s.latencies(r)
		s.table("in ms", stepsText(r, os.Getenv("ARRIVAL_WIDE") != ""))
		s.paragraph("slowest", slowestText(r))
		s.paragraph("sampled", sampledText(r))
		s.paragraph("spans", SpansText(r))
		for i, f := range scriptFigures(r.Figures, "n/a") {
			if i == 0 {
				s.WriteString("\n")
			}
			s.line("figure", "%s: %s", f[0], f[1])
		}
	} else {
		s.line("latency", "not shown: the account does not balance")
	}

	a := r.Account
	reached, rest := equation(a)
	s.paragraph("account", []string{reached, rest})
	s.line("", "%s", deliveries(r, " · "))
	if a.Foreign > 0 {
		s.line("", "foreign: %s", foreignText(r))
	}
	for _, line := range namedText(r) {
		s.line("", "%s", line)
	}
	s.line("clock", "%s", clockText(r.Clock))
	if notes := instrument(r); notes != "" {
		s.line("instrument", "%s", notes)
	}
	for _, p := range r.Generators {
		own := ""
		if p.Scheduled != nil {
			own = fmt.Sprintf(" · %s scheduled · %s arrived · lateness p99 %s ms · CPU max %s %%", words.Count(*p.Scheduled),
				words.Count(*p.Arrived),
				words.MS(p.ScheduleP99MS), level(p.CPUPercentMax))
		}
		s.line(fmt.Sprintf("generator %d", p.Number), "%s · %s%s", p.Segment, p.Result, own)
	}
	for _, e := range r.Errors {
		s.line("error", "%s × %s at %s: %s", words.Count(e.Count), e.Class, e.Stage, e.Example)
	}
	s.table("report", []string{where})
	return s.String() + "\n"
}

// rates are the highest planned rate in requests and in messages: "500 requests/s = 950 messages/s"; empty where they
// are the same, or in the closed model.
func rates(id runfile.Identity) string {
	most, messages, weights := 0.0, 0.0, 0.0
	for _, p := range id.Profile.Phases {
		for _, rate := range []*float64{p.ArrivalRate, p.RampTo} {
			if rate != nil {
				most = max(most, *rate)
			}
		}
	}
	for _, f := range id.Profile.Flows {
		messages, weights = messages+float64(f.Weight*f.Messages), weights+float64(f.Weight)
	}
	if most == 0 || weights == 0 || messages == weights {
		return ""
	}
	return words.Rate(most, "requests") + " = " + words.PerSecond(most*messages/weights)
}

// equation is the account in two lines: the ends up to arrived, and the rest.
func equation(a runfile.Account) (reached, rest string) {
	var terms []string
	split := 0
	for i, end := range ledger.Ends {
		if n := end.Of(a); n != 0 || !end.Rare {
			terms = append(terms, words.Count(n)+" "+end.Word())
		}
		if ledger.End(i) == ledger.EndArrived {
			split = len(terms)
		}
	}
	sign := "="
	if !a.Balanced {
		sign = "≠"
	}
	reached = fmt.Sprintf("%s scheduled %s %s", words.Count(a.Scheduled), sign, strings.Join(terms[:split], " + "))
	return reached, "+ " + strings.Join(terms[split:], " + ")
}

// accountLine is the account in one line.
func accountLine(a runfile.Account) string {
	reached, rest := equation(a)
	return reached + " " + rest
}

// CutOff describes where an incomplete run ended. ran is its length, planned that of its load; 0: unknown.
func CutOff(ran, planned time.Duration) string {
	switch {
	case ran <= 0:
		return "cut off before it began"
	case ran < planned:
		return fmt.Sprintf("cut off at %s of %s", words.Moment(ran), words.Moment(planned))
	case planned == 0:
		return fmt.Sprintf("cut off at %s, before every message had an end", words.Moment(ran))
	}
	return fmt.Sprintf("cut off at %s, after its load of %s and before every message had an end", words.Moment(ran),
		words.Moment(planned))
}

// driftMuch is the least drift in ppm that is worth a word.
const driftMuch = 0.05

func clockText(c runfile.Clock) string {
	s := fmt.Sprintf("%s, bound ±%s ms", c.Reference, words.MS(&c.BoundMS))
	if c.LimitMS != nil {
		s += fmt.Sprintf(", limit %s ms", words.Figure(c.LimitMS))
	}
	if c.DriftPPM == nil {
		return s
	}
	if math.Abs(*c.DriftPPM) >= driftMuch {
		s += ", drift " + words.Level(*c.DriftPPM) + " ppm"
	}
	return s
}

// instrument writes doubts about the instrument, if any.
func instrument(r *runfile.Run) string {
	var notes []string
	if gaps := r.Health.Gaps; len(gaps) > 0 {
		lasted, open := 0.0, 0
		for _, g := range gaps {
			if g.ToS == nil {
				open++
			} else {
				lasted += *g.ToS - g.FromS
			}
		}
		s := words.Plural(len(gaps), "gap")
		if open < len(gaps) {
			s += ", " + words.Duration(lasted)
		}
		if open > 0 {
			s += fmt.Sprintf(", %s open", words.Count(open))
		}
		notes = append(notes, s)
	}
	if n := r.Health.SamplesDiscarded; n > 0 {
		notes = append(notes, words.Plural(n, "sample")+" discarded")
	}
	if n := r.Account.Requests.Retried; n > 0 {
		notes = append(notes, words.Plural(n, "request")+" repeated")
	}
	return strings.Join(notes, " · ")
}

package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// Markdown is the summary of a run for a CI job or a comment on a change: the answer, figures with their limits, the
// findings, the account, and folded details.
func Markdown(r *runfile.Run) string {
	m := &markdown{}
	m.line("## %s: %s", strings.ToUpper(r.Verdict.Result), plain(r.Run.Name))
	if r.Verdict.Result != runfile.Pass && r.Verdict.Meaning != "" {
		m.line("\n%s", plain(r.Verdict.Meaning))
	}
	if r.Answer.Sentence != "" {
		m.line("\n**%s**", plain(r.Answer.Sentence))
	}
	m.list(r.Facts.Reasons)
	for i, doubt := range r.Verdict.Doubts {
		if i == 0 {
			m.line("")
		}
		m.line("- in doubt: %s", plain(doubt))
	}
	m.rules(r, "")
	m.findings(r.Findings)
	m.line("\n%s  \n%s", accountLine(r.Account), deliveries(r, ", "))
	if r.Account.Balanced {
		m.latencies(r)
	} else {
		m.line("\nLatency is not shown: the account does not balance.")
	}
	m.figures(r.Figures)
	m.line("\n<details><summary>Limits of the instrument</summary>")
	m.rules(r, runfile.Invalid)
	m.line("\n</details>")
	m.line("\nReport: %s%s", link(runfile.PageName, runfile.PageName), jobLink(r))
	if r.Run.Command != "" {
		m.code(r.Run.Command)
	}
	return m.String()
}

type markdown struct{ strings.Builder }

func (m *markdown) line(format string, args ...any) { fmt.Fprintf(m, format+"\n", args...) }

func (m *markdown) row(cells ...string) { m.line("| %s |", strings.Join(cells, " | ")) }

func (m *markdown) list(items []string) {
	for i, item := range items {
		if i == 0 {
			m.line("")
		}
		m.line("- %s", plain(item))
	}
}

// code writes a command as it is, on one line: it is there to be copied. Its fence is longer than any in it.
func (m *markdown) code(command string) {
	fence := "```"
	for strings.Contains(command, fence) {
		fence += "`"
	}
	m.line("\n%s\n%s\n%s", fence, words.Printable(command), fence)
}

// link is a link whose address may hold anything.
func link(text, address string) string {
	return fmt.Sprintf("[%s](<%s>)", plain(text), strings.NewReplacer("<", "%3C", ">", "%3E", "\n", "%0A", "\r", "%0D",
		"\\", "%5C").Replace(address))
}

// jobLink is a link to the CI job, where the files of the run are kept; empty without a job's address.
func jobLink(r *runfile.Run) string {
	var ci struct{ Name, URL string }
	data, _ := json.Marshal(r.Environment["ci"]) // a run in progress has a struct, one that was read a map
	_ = json.Unmarshal(data, &ci)
	if !strings.HasPrefix(ci.URL, "https://") && !strings.HasPrefix(ci.URL, "http://") {
		return ""
	}
	return " of " + link(cmp.Or(ci.Name, "the job"), ci.URL)
}

// figures writes the figures of the script.
func (m *markdown) figures(all []runfile.Figure) {
	var lines []string
	for _, f := range scriptFigures(all, "not available") {
		lines = append(lines, f[0]+": "+f[1])
	}
	m.list(lines)
}

// findings writes what stands out.
func (m *markdown) findings(found []runfile.Finding) {
	var texts []string
	for _, f := range found {
		text := f.Text
		if f.Next != "" {
			text += " Next: " + f.Next + "."
		}
		texts = append(texts, text)
	}
	if texts != nil {
		m.line("\n**Findings**")
		m.list(texts)
	}
}

// latencies writes the latencies of the run, and folded the stages.
func (m *markdown) latencies(r *runfile.Run) {
	head := func() {
		m.line("")
		m.row("ms", "mean", "p50", "p95", "p99", "max", "samples")
		m.row("---", "---:", "---:", "---:", "---:", "---:", "---:")
	}
	row := func(name string, l runfile.Latency, within string) {
		m.row(name, words.MS(l.Mean), words.MS(l.At(50))+within, words.MS(l.At(95)), words.MS(l.At(99)), words.MS(l.Max),
			words.Count(int(l.Count)))
	}
	head()
	for i, one := range seriesOf(r) {
		if i == 0 {
			one.name = "**" + one.name + "**"
		}
		row(one.name, one.Latency, "")
	}
	open := false
	for _, stage := range r.Stages {
		if s := r.Latency.Stages[stage.Name]; s.Count > 0 {
			if !open {
				m.line("\n<details><summary>Stages</summary>")
				head()
				open = true
			}
			row(stage.Name, s, withinText(r.BoundOf(stage)))
		}
	}
	if open {
		m.line("\n</details>")
	}
	m.spans(r)
}

// spans writes the stages of sampled messages.
func (m *markdown) spans(r *runfile.Run) {
	s := r.Spans
	if s == nil {
		return
	}
	head := s.Head()
	m.line("\n<details><summary>%s</summary>\n", plain(head))
	if len(s.Stages) > 0 {
		m.row("ms", "mean", "±", "p50", "p99", "max")
		m.row("---", "---:", "---:", "---:", "---:", "---:")
		for _, stage := range spansRows(s) {
			m.row(plain(stage.From+" → "+stage.To), words.MS(stage.Mean), words.MS(stage.Error),
				words.MS(stage.P50)+withinText(stage.BoundMS()),
				words.MS(stage.P99), words.MS(stage.Max))
		}
	}
	m.list(spansNotes(r))
	m.line("\n</details>")
}

// rules writes a table of the rules for a result, or without one of the other rules and all broken ones.
func (m *markdown) rules(r *runfile.Run, of string) {
	head := true
	for _, rule := range r.Verdict.Rules {
		own := rule.Result == runfile.Invalid || rule.Result == runfile.Doubtful // on the instrument
		if rule.Limit == nil || (own && !rule.IsBroken()) != (of == runfile.Invalid) ||
			rule.Unit == "ms" && !r.Account.Balanced {
			continue
		}
		if head {
			m.line("")
			m.row("rule", "measured", "required", "result")
			m.row("---", "---:", "---", "---")
			head = false
		}
		result := rule.State()
		if rule.Decides() {
			result = "**" + result + "**"
		}
		m.row(plain(rule.Label()), plain(rule.ValueText()), plain(rule.LimitText()), result)
	}
}

// longest is the most characters of a name or a reason.
const longest = 500

// plain escapes text for Markdown, on one line, with visible bidi controls; run.json has what is cut off.
func plain(s string) string {
	var b strings.Builder
	for i, c := range []rune(s) {
		switch {
		case i == longest:
			b.WriteString("… (run.json has all of it)")
			return b.String()
		case unicode.IsControl(c) || c == '\u2028' || c == '\u2029':
			b.WriteByte(' ')
		case unicode.Is(unicode.Bidi_Control, c):
			fmt.Fprintf(&b, `\[%U\]`, c)
		case c == '<':
			b.WriteString("&lt;")
		case c == '&':
			b.WriteString("&amp;")
		case strings.ContainsRune("\\`*_[]|#>~", c):
			b.WriteByte('\\')
			b.WriteRune(c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

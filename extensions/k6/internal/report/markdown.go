package report

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
)

// Markdown is the summary of a run for a CI job or a comment on a change: the answer, figures with their limits, the
// findings, the account, and folded details.
func Markdown(r *Run) string {
	m := &markdown{}
	m.line("## %s: %s", strings.ToUpper(r.Verdict.Result), plain(r.Run.Name))
	if r.Answer.Sentence != "" {
		m.line("\n**%s**", plain(r.Answer.Sentence))
	}
	m.list(r.Verdict.Reasons)
	m.rules(r, "")
	m.findings(r.Findings)
	m.line("\n%s  \n%s of %s deliveries, %s duplicates, %s reordered", accountLine(r.Account), count(r.Account.Deliveries.Arrived),
		count(r.Account.Deliveries.Due), count(r.Account.Duplicates), count(r.Account.Reordered))
	if r.Account.Balanced {
		m.latencies(r)
	} else {
		m.line("\nLatency is not shown: the account does not balance.")
	}
	var figures []string
	for _, f := range scriptFigures(r.Figures, "not available") {
		figures = append(figures, f[0]+": "+f[1])
	}
	m.list(figures)
	m.line("\n<details><summary>Limits of the instrument</summary>")
	m.rules(r, Invalid)
	m.line("\n</details>")
	if r.Run.Command != "" {
		m.line("\n%s", plain(r.Run.Command))
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

// findings writes what stands out.
func (m *markdown) findings(found []Finding) {
	var texts []string
	for _, f := range found {
		texts = append(texts, f.Text)
	}
	if texts != nil {
		m.line("\n**Findings**")
		m.list(texts)
	}
}

// latencies writes the latencies of the run, and folded the stages.
func (m *markdown) latencies(r *Run) {
	head := func() {
		m.line("")
		m.row("ms", "mean", "p50", "p95", "p99", "max", "samples")
		m.row("---", "---:", "---:", "---:", "---:", "---:", "---:")
	}
	row := func(name string, l Latency, within string) {
		m.row(name, num(l.Mean), num(l.at(50))+within, num(l.at(95)), num(l.at(99)), num(l.Max), count(int(l.Count)))
	}
	head()
	row("**arrival**", r.Latency.Arrival, "")
	if r.Run.Model != Closed { // in the closed model both figures are equal
		row("from send", r.Latency.FromSend, "")
	}
	row(r.Run.protocol(), r.Latency.HTTP, "")
	open := false
	for i := range ledger.Stages {
		if s := r.Latency.Stages[i.String()]; s.Count > 0 {
			if !open {
				m.line("\n<details><summary>Stages</summary>")
				head()
				open = true
			}
			row(i.String(), s, within(r, i))
		}
	}
	if open {
		m.line("\n</details>")
	}
}

// rules writes a table of the rules for a result, or without one of the other rules and all broken ones.
func (m *markdown) rules(r *Run, of string) {
	head := true
	for _, rule := range r.Verdict.Rules {
		held := rule.OK == nil || *rule.OK
		if rule.Limit == nil || (rule.Result == Invalid && held) != (of == Invalid) || rule.Unit == "ms" && !r.Account.Balanced {
			continue
		}
		if head {
			m.line("")
			m.row("", "measured", "required", "")
			m.row("---", "---:", "---", "---")
			head = false
		}
		result := "held"
		if rule.OK == nil {
			result = "not judged"
		} else if !held {
			result = "**" + rule.Result + "**"
		}
		m.row(plain(rule.label()), plain(withUnit(rule.Value, rule.Unit)), plain(rule.limit()), result)
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

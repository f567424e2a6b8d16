package report

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
)

// Markdown is a run in short, for the summary of a CI job or a comment on a change.
func Markdown(r *Run) string {
	var b strings.Builder
	row := func(cells ...string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	fmt.Fprintf(&b, "## %s: %s\n\n", strings.ToUpper(r.Verdict.Result), plain(r.Run.Name))
	for _, reason := range r.Verdict.Reasons {
		fmt.Fprintf(&b, "- %s\n", plain(reason))
	}
	if len(r.Verdict.Reasons) > 0 {
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s  \n%s of %s deliveries, %s duplicates, %s reordered\n\n", r.Account.line(),
		count(r.Account.Deliveries.Arrived), count(r.Account.Deliveries.Due), count(r.Account.Duplicates), count(r.Account.Reordered))
	if r.Account.Balanced {
		row("ms", "mean", "p50", "p95", "p99", "max", "samples")
		row("---", "---:", "---:", "---:", "---:", "---:", "---:")
		latency := func(name string, l Latency, within string) {
			row(name, num(l.Mean), num(l.at(50))+within, num(l.at(95)), num(l.at(99)), num(l.Max), count(int(l.Count)))
		}
		latency("**arrival**", r.Latency.Arrival, "")
		if r.Run.Model != Closed { // where a message is due when it is sent, it is the same figure
			latency("from send", r.Latency.FromSend, "")
		}
		latency(r.Run.protocol(), r.Latency.HTTP, "")
		for i := range ledger.Stages {
			if s := r.Latency.Stages[i.String()]; s.Count > 0 {
				latency("stage "+i.String(), s, within(r, i))
			}
		}
	} else {
		b.WriteString("Latency is not shown: the account does not balance.\n")
	}
	if k := r.Knee; k != nil && r.Account.Balanced {
		fmt.Fprintf(&b, "\nknee: %s\n", k)
	}
	for i, f := range scriptFigures(r.Figures, "not available") {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "- %s: %s\n", plain(f[0]), plain(f[1]))
	}
	head := true
	for _, rule := range r.Verdict.Rules {
		if rule.Limit == nil {
			continue
		}
		if head {
			b.WriteString("\n")
			row("rule", "limit", "measured", "result")
			row("---", "---", "---:", "---")
			head = false
		}
		result := "held"
		if rule.OK == nil {
			result = "not judged"
		} else if !*rule.OK {
			result = "**" + rule.Result + "**"
		}
		row(plain(rule.Name), plain(rule.limit()), plain(withUnit(rule.Value, rule.Unit)), result)
	}
	return b.String()
}

// longest that a name or a reason may be here, in characters.
const longest = 500

// plain is text that Markdown shows as it is, on one line; its bidi controls are seen, and run.json has what is cut off.
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

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/judge"
	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
	"github.com/arrival-bench/arrival/extensions/k6/internal/render"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

const (
	exact = "exact"          // the tolerance of counts
	late  = "generator late" // the tolerance of a verdict that the machine changed
)

var foreign = judge.Count{Name: "foreign", Of: func(a runfile.Account) int { return a.Foreign }}

// account compares the account's counts and its balance. Each expected count gets a row; all others must be 0.
// Several senders overtake each other, so a case that expects no reorderings ignores them.
func account(expected func(messages int) runfile.Account) check {
	return func(o *outcome) []row {
		want, got := expected(o.messages), runfile.Account{}
		balanced := true
		for _, g := range o.generators {
			a := g.run.Account
			balanced = balanced && a.Balanced
			got.Scheduled += a.Scheduled
		}
		n := o.messages * len(o.generators)
		rows := []row{{
			"account", count(n) + " balanced", count(got.Scheduled) + " " + balanceText(balanced), exact,
			got.Scheduled == n && balanced,
		}}
		others := 0
		for _, part := range slices.Concat(judge.Counts[1:], []judge.Count{foreign}) {
			expected, measured := part.Of(want)*len(o.generators), 0
			for _, g := range o.generators {
				measured += part.Of(g.run.Account)
			}
			switch {
			case expected != 0:
				rows = append(rows, counted(strings.ReplaceAll(part.Name, "_", "-"), expected, measured))
			case part.Name != "reordered":
				others += measured
			}
		}
		if others != 0 {
			rows = append(rows, counted("all other counts", 0, others))
		}
		return rows
	}
}

func balanceText(yes bool) string {
	if yes {
		return "balanced"
	}
	return "unbalanced"
}

func balance(o *outcome) []row {
	a := o.generators[0].run.Account
	got := fmt.Sprintf("%s of %s, %s", count(a.Arrived), count(a.Scheduled), balanceText(a.Balanced))
	return []row{{"account, arrived", "balanced", got, exact, a.Balanced}}
}

// missed requires that exactly the undelivered messages are lost.
func missed(o *outcome) []row {
	g := o.generators[0]
	expected, got := o.messages-len(g.log), g.run.Account.Lost
	return []row{{"lost in the gap", count(expected) + " undelivered", count(got), exact, got == expected &&
		expected > 0}}
}

// notSent requires that the load ends when the subscriber can't return.
func notSent(o *outcome) []row {
	got := o.generators[0].run.Account.Dropped
	return []row{{"dropped", "the rest", count(got), exact, got > 0 && got < o.messages}}
}

// gaps requires this many spans in which a subscriber had no connection.
func gaps(expected int) check {
	return func(o *outcome) []row { return []row{counted("gaps", expected, len(o.generators[0].run.Health.Gaps))} }
}

// canary requires one message per second. It compares only the fastest with the pipeline's log: the machine may
// have delayed all others.
func canary(delay time.Duration) check {
	return func(o *outcome) []row {
		expected := o.seconds[o.form]
		c := o.generators[0].run.Canary
		if c == nil || c.Latency.Count == 0 {
			return []row{{"canary", count(expected) + " arrived", "none", exact, false}}
		}
		least := max(millisOf(delay), o.canaries()[0])
		return []row{
			{"canary, arrived", count(expected), count(c.Arrived), exact, c.Sent == expected && c.Arrived == expected},
			between("canary, fastest", recorded(millisOf(delay), least), *c.Latency.Min, least, 0,
				o.form.frozenSlack()),
		}
	}
}

// samples requires one latency sample for each delivered message of the measured phase.
func samples(o *outcome) []row {
	expected, got := len(o.arrivals()), int(o.generators[0].run.Latency.Arrival.Count)
	return []row{{"latency samples", count(expected) + " delivered", count(got), exact, got == expected}}
}

// named requires that the messages with a bad end are named by the ends of their ids, and no others.
func named(end string, seqs ...int) check {
	return func(o *outcome) []row {
		got := []int{}
		for _, n := range o.generators[0].run.Messages.Named {
			if n.End == end {
				got = append(got, seqOf(n.ID))
			}
		}
		return []row{{end + ", their ids", fmt.Sprint(seqs), fmt.Sprint(got), exact, slices.Equal(got, seqs)}}
	}
}

// seqOf is the number of a message in its id.
func seqOf(id string) int { return must.Get(strconv.Atoi(id[strings.LastIndexByte(id, '.')+1:])) }

func negative(o *outcome) []row {
	return []row{counted("deliveries with a negative stage", 0, o.generators[0].run.Account.Negative)}
}

// verdict requires a result and its exit code. It accepts "invalid" for reasons that depend on the machine.
func verdict(want string) check {
	return func(o *outcome) (rows []row) {
		for _, g := range o.generators {
			v := g.run.Verdict
			code := 0
			if want != runfile.Pass {
				code = thresholdsCrossed
			}
			r := row{
				"verdict", fmt.Sprintf("%s, exit %d", want, code), fmt.Sprintf("%s, exit %d", v.Result, g.exit), exact,
				v.Result == want && g.exit == code,
			}
			if want == runfile.Pass && slices.ContainsFunc(v.Reasons, ofMachine) {
				r.tolerance = late
				others := slices.ContainsFunc(v.Reasons, func(reason string) bool { return !ofMachine(reason) })
				r.ok = v.Result == runfile.Invalid && g.exit == thresholdsCrossed && !others
			}
			rows = append(rows, r)
		}
		return rows
	}
}

func verdictNot(not string) check {
	return func(o *outcome) []row {
		v := o.generators[0].run.Verdict
		return []row{{"verdict", "not " + not, v.Result, exact, v.Result != not}}
	}
}

// incomplete requires that the report of a killed run says so.
func incomplete(o *outcome) []row {
	r := o.generators[0].run
	ok := r.Verdict.Result == runfile.Incomplete && r.Run.Ended == nil
	return []row{{"verdict", runfile.Incomplete, r.Verdict.Result, exact, ok}}
}

// pending requires that a killed run counts all sent and undelivered messages as pending.
func pending(o *outcome) []row {
	a := o.generators[0].run.Account
	rows := balance(o)
	least := o.kill - delivered
	return append(rows, row{
		"pending", "≥ " + count(least), count(a.Pending), exact,
		a.Pending >= least && a.Pending == a.Scheduled-a.Arrived-a.Rejected,
	})
}

// leftPage requires that a killed run leaves its page and its timeline.
func leftPage(o *outcome) []row {
	g := o.generators[0]
	page := must.Get(os.ReadFile(filepath.Join(g.dir, runfile.PageName)))
	timeline := must.Get(os.ReadFile(filepath.Join(g.dir, runfile.TimelineName)))
	has := map[bool]string{true: "holds the run", false: "does not hold the run"}
	held, err := render.Shown(page)
	shown := err == nil && held.Run.ID == g.run.Run.ID
	lines, least := bytes.Count(timeline, []byte("\n")), len(g.run.Timeline)
	return []row{
		{"index.html", has[true], has[shown], exact, shown},
		{"timeline, seconds", fmt.Sprintf("≥ %d", least), count(lines), exact, lines >= least && least > 0},
	}
}

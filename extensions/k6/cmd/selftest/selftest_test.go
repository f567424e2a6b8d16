package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// holds reports whether a check has rows and all of them are ok.
func holds(rows []row) bool {
	for _, r := range rows {
		if !r.ok {
			return false
		}
	}
	return len(rows) > 0
}

// newOutcome returns the outcome of a case with one generator, which got n messages and measured
// these latencies, in ms.
func newOutcome(c *testCase, n int, ms ...float64) *outcome {
	h := empty()
	series := &ledger.Series{Histogram: h}
	for _, v := range ms {
		series.Add(int64(v * 1000))
	}
	run := &runfile.Run{
		Run:     runfile.Identity{Started: "2026-11-21T12:00:00.000Z"},
		Account: runfile.Account{Scheduled: n, Arrived: n, Balanced: true},
		Verdict: runfile.Verdict{Result: runfile.Pass},
		Latency: runfile.Latencies{Arrival: runfile.NewLatency(series, true)},
	}
	return &outcome{testCase: c, messages: n, measured: n, generators: []*generated{{run: run, fake: &fake.Pipeline{}}}}
}

func TestTheAccountMustMatchExactly(t *testing.T) {
	t.Parallel()
	expected := account(func(n int) runfile.Account { return runfile.Account{Arrived: n - 1, Lost: 1} })
	for name, c := range map[string]struct {
		got  runfile.Account
		want bool
	}{
		"as expected":       {runfile.Account{Scheduled: 10, Arrived: 9, Lost: 1, Balanced: true}, true},
		"one more loss":     {runfile.Account{Scheduled: 10, Arrived: 8, Lost: 2, Balanced: true}, false},
		"not balanced":      {runfile.Account{Scheduled: 10, Arrived: 9, Lost: 1}, false},
		"too few scheduled": {runfile.Account{Scheduled: 9, Arrived: 9, Lost: 1, Balanced: true}, false},
		"a duplicate":       {runfile.Account{Scheduled: 10, Arrived: 9, Lost: 1, Duplicates: 1, Balanced: true}, false},
		"a foreign message": {runfile.Account{Scheduled: 10, Arrived: 9, Lost: 1, Foreign: 1, Balanced: true}, false},
		"reordering passes": {runfile.Account{Scheduled: 10, Arrived: 9, Lost: 1, Reordered: 3, Balanced: true}, true},
	} {
		o := newOutcome(&testCase{}, 10)
		o.generators[0].run.Account = c.got
		assert.Equal(t, c.want, holds(expected(o)), name)
	}
}

// Foreign messages are not part of the balance. Where a case expects them, a row of their own
// compares their sum over all generators.
func TestForeignMessagesAreSummedOverGenerators(t *testing.T) {
	t.Parallel()
	expected := account(func(n int) runfile.Account { return runfile.Account{Arrived: n, Foreign: n / 4} })
	for got, want := range map[[2]int]bool{{2, 2}: true, {1, 3}: true, {2, 1}: false, {2, 3}: false, {0, 0}: false} {
		o := newOutcome(&testCase{}, 8)
		o.generators = append(o.generators, newOutcome(&testCase{}, 8).generators...)
		for i, g := range o.generators {
			g.run.Account.Foreign = got[i]
		}
		rows := expected(o)
		assert.Equal(t, want, holds(rows), got)
		last := rows[len(rows)-1]
		assert.Equal(t, []string{"foreign", "4", count(got[0] + got[1]), exact},
			[]string{last.what, last.expected, last.measured, last.tolerance})
	}
}

func TestTheNamedMessagesMustMatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		slowest string
		stages  map[string]float64
		lost    []string
		want    [2]bool
	}{
		"as expected":   {"r.1.7", map[string]float64{"queue": 30, "delivery": 321}, []string{"r.1.3", "r.1.4"}, [2]bool{true, true}},
		"other ids":     {"r.1.8", map[string]float64{"queue": 30, "delivery": 321}, []string{"r.1.3", "r.1.5"}, [2]bool{false, false}},
		"another stage": {"r.1.7", map[string]float64{"queue": 330, "delivery": 321}, []string{"r.1.3"}, [2]bool{false, false}},
		"too short":     {"r.1.7", map[string]float64{"queue": 30, "delivery": 300}, nil, [2]bool{false, false}},
	} {
		o := newOutcome(&testCase{}, 10)
		all := &runfile.Messages{Slowest: []runfile.Slow{{ID: c.slowest, StagesMS: c.stages}},
			Named: []runfile.Named{{ID: "r.1.9", End: "negative"}}}
		for _, id := range c.lost {
			all.Named = append(all.Named, runfile.Named{ID: id, End: "lost"})
		}
		o.generators[0].run.Messages = all
		got := [2]bool{holds(first(7, "delivery", 320*ms)(o)), holds(named("lost", 3, 4)(o))}
		assert.Equal(t, c.want, got, name)
	}
}

// The check ignores lateness and the clock bound, which depend on the machine. Any other reason
// counts.
func TestTheVerdictCheckIgnoresLateness(t *testing.T) {
	t.Parallel()
	const late, other = "the generator was late: lateness p99 9 ms", "the account does not balance"
	const clock = "the clock bound ±3.000 ms is more than 10 % of the stage request"
	for _, c := range []struct {
		want    string
		result  string
		exit    int
		reasons []string
		ok      bool
	}{
		{runfile.Pass, runfile.Pass, 0, nil, true},
		{runfile.Pass, runfile.Pass, 99, nil, false},
		{runfile.Pass, runfile.Fail, 99, []string{other}, false},
		{runfile.Pass, runfile.Invalid, 99, []string{late}, true},
		{runfile.Pass, runfile.Invalid, 99, []string{clock}, true},
		{runfile.Pass, runfile.Invalid, 0, []string{late}, false},
		{runfile.Pass, runfile.Invalid, 99, []string{late, other}, false},
		{runfile.Fail, runfile.Fail, 99, []string{other}, true},
		{runfile.Fail, runfile.Invalid, 99, []string{other}, false},
		{runfile.Fail, runfile.Fail, 99, []string{late, other}, true},
		{runfile.Fail, runfile.Invalid, 99, []string{late, other}, false},
		{runfile.Fail, runfile.Invalid, 99, []string{late}, false},
		{runfile.Fail, runfile.Pass, 0, nil, false},
	} {
		o := newOutcome(&testCase{}, 1)
		o.generators[0].exit = c.exit
		o.generators[0].run.Verdict = runfile.Verdict{Result: c.result, Reasons: c.reasons}
		assert.Equal(t, c.ok, holds(verdict(c.want)(o)), "%+v", c)
	}
}

// On a busy machine a row about times stays open. Counts and verdicts hold on any machine.
func TestABusyMachineLeavesOnlyTimesOpen(t *testing.T) {
	t.Parallel()
	rows := []row{
		between("slow", "50 ms", 500, 50, 0, 25), between("in time", "50 ms", 60, 50, 0, 25),
		{what: "lost", expected: "1", measured: "2", tolerance: exact},
		{what: "verdict", expected: runfile.Pass, measured: runfile.Fail, tolerance: late},
	}
	leaveOpen(rows)
	open := []bool{}
	for _, r := range rows {
		open = append(open, r.open())
	}
	assert.Equal(t, []bool{true, false, false, false}, open)
	assert.Equal(t, []bool{false, true, false, false}, []bool{rows[0].ok, rows[1].ok, rows[2].ok, rows[3].ok})
	r := result{testCase: &testCase{name: "x", rate: 1, seconds: [2]int{1, 1}}, rows: rows}
	assert.Regexp(t, `slow .* open\n.*in time .* ok\n.*lost .* NO\n.*verdict .* NO\n`, r.text(full))
}

// Regression: a count that was wrong in the first of two attempts passed.
func TestAWrongCountIsNotRetried(t *testing.T) {
	t.Parallel()
	slow := between("arrival, p50", "50 ms", 500, 50, 0, 25)
	lost := row{what: "lost", expected: "1", measured: "2", tolerance: exact}
	fails := row{what: "verdict", expected: runfile.Pass, measured: runfile.Fail, tolerance: late}
	early := between("arrival, p50", "50 ms", 49, 50, 0, 25)
	inTime := between("arrival, p50", "50 ms", 60, 50, 0, 25)
	for name, c := range map[string]struct {
		first []row
		late  bool
		runs  int
		open  []bool
	}{
		"a time, late generator":     {[]row{slow}, true, 2, []bool{false}},
		"a time, punctual generator": {[]row{slow}, false, 1, []bool{false}},
		"a count":                    {[]row{lost}, true, 1, []bool{false}},
		"a verdict":                  {[]row{fails}, true, 1, []bool{false}},
		"faster than the pipeline":   {[]row{early}, true, 1, []bool{false}},
		"a time and a count":         {[]row{slow, lost}, true, 1, []bool{true, false}},
	} {
		runs, repeated := 0, 0
		tried := testCase{checks: []check{func(*outcome) []row {
			if runs == 1 {
				return c.first
			}
			return []row{inTime}
		}}}
		rows := tried.try(func(int) (*outcome, error) {
			runs++
			o := newOutcome(&tried, 1)
			if c.late {
				o.generators[0].run.Verdict = runfile.Verdict{Result: runfile.Invalid,
					Reasons: []string{"the generator was late: by far"}}
			}
			return o, nil
		}, func(string) { repeated++ })
		assert.Equal(t, c.runs, runs, name)
		assert.Equal(t, c.runs-1, repeated, name)
		assert.Equal(t, c.runs > 1, holds(rows), name)
		for i, open := range c.open {
			assert.Equal(t, open, rows[i].open(), name)
		}
	}
}

func TestTheCanaryMustMatchItsDeliveries(t *testing.T) {
	t.Parallel()
	for measured, want := range map[float64]bool{49: false, 51: false, 52: true, 90: true, 110: false} {
		o := newOutcome(&testCase{rate: 1000, seconds: [2]int{1, 1}}, 1, 1)
		o.generators[0].run.Canary = &runfile.Canary{Sent: 1, Arrived: 1,
			Latency: runfile.Latency{Count: 1, Min: &measured}}
		logDeliveries(o, 1)
		due := o.generators[0].log[0].Written.Add(500 * ms)
		o.generators[0].log = append(o.generators[0].log, fake.Delivery{ID: "run.canary.0", Written: due.Add(51 * ms)})
		assert.Equal(t, want, holds(canary(50*ms)(o)), "%g", measured)
		assert.Len(t, o.arrivals(), 1, "the canary is not part of the load")
	}
}

// logDeliveries logs that the pipeline wrote message i ms[i] after it was due.
// The self-test must show that latency from the actual send misses a freeze.
func TestEvery(t *testing.T) {
	t.Parallel()
	for n := 1; n < 100; n++ {
		found := 0
		for i := 1; i <= n; i++ {
			if i%20 == 3 {
				found++
			}
		}
		assert.Equal(t, found, every(n, 20, 3), n)
	}
}

// Otherwise an invalid profile shows only when its case runs.
func TestEveryCaseHasAProfileAndChecks(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, c := range allCases() {
		assert.False(t, names[c.name], c.name)
		names[c.name] = true
		assert.NotEmpty(t, c.pipelines, c.name)
		assert.NotEmpty(t, c.checks, c.name)
		for _, seconds := range c.seconds {
			if seconds > 0 {
				_, err := profile.Parse(c.name, c.profileText(seconds))
				assert.NoError(t, err)
			}
		}
	}
}

func TestTheTableFits110Columns(t *testing.T) {
	t.Parallel()
	r := result{testCase: &testCase{name: "x", rate: 1, seconds: [2]int{1, 1}}, rows: []row{
		between("deliveries with a negative stage", recorded(1000, 1000.25), 1000.125, 1000, 0.125, 1000),
	}}
	for text := range strings.Lines(r.text(full)) {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(text, "\n")), 110, text)
	}
	assert.Equal(t, "−500", trim(-500))
	assert.Equal(t, "0.007", trim(0.007))
	assert.Equal(t, "−500.003", micros(-500.0026))
	assert.Equal(t, "1000", trim(999.99))
	assert.Equal(t, "12,345", count(12345))
}

func TestWrongUsageHasItsOwnExitCode(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "k6")
	for want, args := range map[string][]string{
		"flag provided but not defined: -shrt":       {"--shrt"},
		`"short" is not an option`:                   {"short"},
		`--only "xyz": no case`:                      {"--only", "xyz"},
		"k6 is not built (" + missing + "): npm run": {"--k6", missing},
	} {
		code, err := selftest(t.Context(), args)
		assert.Equal(t, notTested, code)
		assert.ErrorContains(t, err, want)
	}
}

func TestLastOutputIsOneShortLine(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "a b", lastOutput(bytes.NewBufferString("a\n  b\n")))
	assert.LessOrEqual(t, len(lastOutput(bytes.NewBufferString(strings.Repeat("x", 1000)))), 310)
}

// Arrivals must not include the delay of a late reader. Slow writes are left out: their time is not
// known well enough.
func TestServeOffersThePipelineToOtherGenerators(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, &fake.Pipeline{}, write) }()
	lines := bufio.NewScanner(read)
	require.True(t, lines.Scan())
	ingest, _, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "INGEST_URL="), " ")
	answer, err := http.Post(ingest+"/messages", "application/json", strings.NewReader(`{"id":"1"}`))
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	assert.Equal(t, http.StatusAccepted, answer.StatusCode)
	stop()
	require.True(t, lines.Scan())
	assert.Equal(t, "1 requests", lines.Text())
	require.NoError(t, <-ended)
}

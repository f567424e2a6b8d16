package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
)

// form is how thorough the self-test is.
type form int

const (
	full form = iota
	short
)

// testCase configures a pipeline and checks what the instrument reports about it.
type testCase struct {
	name      string
	pipelines []func() *fake.Pipeline // each has its own generator; all run at once
	rate      int                     // requests per second, one message each
	seconds   [2]int                  // length in each form; 0: the form leaves the case out
	warmUp    int                     // seconds at the same rate before the measured phase
	targets   int                     // topics; 0: 20
	flows     string                  // the profile's; empty: one with these targets
	options   map[string]any          // Run's, as the script passes them
	consumer  *consumer               // a script that receives; nil: the run does
	busyLoops int                     // that many endless loops share one core with k6
	cpuShare  float64                 // how much of one core k6 may use; 0: all
	frozenAt  []time.Duration         // how long after the first request k6 is frozen for frozenFor
	limits    []float64               // on arrival p99, ms
	kill      int                     // SIGKILL at the request of this number; 0: never
	raw       bool                    // k6 also writes every sample
	instances bool                    // the generators are instances of one run, which is merged
	burns     bool                    // k6 has one core, and a VU that uses it up
	onLinux   bool                    // it runs on Linux only, which alone has its figures
	checks    []check
}

// consumer is a script that receives by MQTT and calls run.arrived().
type consumer struct {
	late    time.Duration // how late the handler is
	stamped bool          // it says when its client received the message
}

// check compares the expected values with the measured ones.
type check func(o *outcome) []row

type row struct {
	what, expected, measured, tolerance string
	ok                                  bool
}

type outcome struct {
	*testCase
	form       form
	messages   int // that each generator schedules, warm-up included
	measured   int // messages of the measured phase
	generators []*generated
	whole      *generated // the merged run of all instances; nil: there is one
}

func (c *testCase) profileText(seconds int) string {
	rate := c.rate
	if c.instances { // each sends its share
		rate *= len(c.pipelines)
	}
	phases := fmt.Sprintf("{name: steady, duration: %d, arrivalRate: %d}", seconds, rate)
	if c.warmUp > 0 {
		phases = fmt.Sprintf("{name: warm-up, duration: %d, arrivalRate: %d, measured: false}, ", c.warmUp, rate) +
			phases
	}
	flows := c.flows
	if flows == "" {
		flows = fmt.Sprintf("{name: direct, targets: %d}", cmp.Or(c.targets, 20))
	}
	return fmt.Sprintf("phases: [%s]\nflows: [%s]\n", phases, flows)
}

// attempts limits how often a case runs whose times are wrong while the generator reports that it was late or
// out of CPU.
const attempts = 3

// try runs a case until it holds, the instrument trusts its own figures, or the attempts are used up. A wrong
// count ends it at once: a second attempt would hide an occasional loss. retry receives the reason of each
// repetition.
func (c *testCase) try(run func(attempt int) (*outcome, error), retry func(why string)) []row {
	for attempt := 1; ; attempt++ {
		o, err := run(attempt)
		if err != nil {
			return []row{failed(err)}
		}
		rows := c.check(o)
		wrong := slices.IndexFunc(rows, func(r row) bool { return !r.ok })
		why := o.doubt()
		switch {
		case wrong < 0 || why == "":
			return rows
		case attempt == attempts || slices.ContainsFunc(rows, row.isWrongAnywhere):
			leaveOpen(rows)
			return rows
		}
		retry(fmt.Sprintf("%s %s; %s", rows[wrong].what, rows[wrong].measured, why))
	}
}

// failed is the row of a run that did not end by itself.
func failed(err error) row {
	return row{what: "the run", expected: "ends by itself", measured: err.Error(), tolerance: exact}
}

// check makes all checks of a case.
func (c *testCase) check(o *outcome) (rows []row) {
	for _, check := range c.checks {
		if err := must.Try(func() { rows = append(rows, check(o)...) }); err != nil {
			rows = append(rows, row{what: "a check", expected: "can be made", measured: err.Error(), tolerance: exact})
		}
	}
	return rows
}

// busy is the tolerance of an open row.
const busy = "machine too busy"

// leaveOpen marks the wrong rows as open that a busy machine explains.
func leaveOpen(rows []row) {
	for i := range rows {
		if r := &rows[i]; !r.ok && !r.isWrongAnywhere() {
			r.tolerance = busy
		}
	}
}

// isWrongAnywhere reports whether a row fails even on a busy machine: counts and verdicts are exact.
func (r row) isWrongAnywhere() bool {
	return !r.ok && slices.Contains([]string{exact, late, falseGreen, falseRed}, r.tolerance)
}

// proven marks a row about times that holds on any machine, because it follows from the pipeline's record alone.
func proven(r row) row {
	if !r.ok {
		r.tolerance = exact
	}
	return r
}

func (r row) open() bool { return !r.ok && r.tolerance == busy }

// doubt is why one of the runs distrusts its generator; "" if none does.
func (o *outcome) doubt() string {
	for _, g := range o.generators {
		if why := g.late(); why != "" {
			return why
		}
	}
	return ""
}

// attemptDir is the directory of an attempt, below dir.
func (c *testCase) attemptDir(dir string, attempt int) string {
	return filepath.Join(dir, strings.ReplaceAll(c.name, " ", "-")+"-"+strconv.Itoa(attempt))
}

func (c *testCase) run(ctx context.Context, in instrument, f form, dir string) (*outcome, error) {
	seconds := c.seconds[f]
	o := &outcome{
		testCase: c, form: f, generators: make([]*generated, len(c.pipelines)),
		messages: c.rate * (c.warmUp + seconds), measured: c.rate * seconds,
	}
	failures := make([]error, len(c.pipelines))
	meeting := fake.Pipeline{Redis: &fake.Redis{}}
	if c.instances {
		if err := meeting.Start(); err != nil {
			return nil, err
		}
		defer func() { _ = meeting.Close() }()
	}
	run := fmt.Sprintf("%08x", rand.Uint32())
	var generators sync.WaitGroup
	for i, pipeline := range c.pipelines {
		share := share{number: i + 1, of: len(c.pipelines)}
		if c.instances {
			share.run, share.redis = run, meeting.Redis.URL()
		}
		generators.Go(func() {
			o.generators[i], failures[i] = in.generate(ctx, c, pipeline(), seconds, dir, share)
		})
	}
	generators.Wait()
	if err := errors.Join(failures...); err != nil || !c.instances {
		return o, err
	}
	var err error
	o.whole, err = in.merge(ctx, dir)
	return o, err
}

// share is a generator's part of a case.
type share struct {
	number, of int
	run, redis string // the id of the instances' run, and where they meet; empty: the generator is alone
}

// arrivals returns lower limits of the measured arrival latencies, in ms, ascending. The pipeline's log has them:
// from a message's due time until just before it was written. They are up to 1 ms too short, because a report
// truncates the start of its run to whole ms.
func (o *outcome) arrivals() []float64 { return o.arrivalsOf("") }

// arrivalsOf returns the arrivals of the targets that begin with prefix.
func (o *outcome) arrivalsOf(prefix string) []float64 {
	return o.generators[0].written(false, func(d *fake.Delivery) (due time.Duration, measured bool) {
		seq := seqOf(d.ID)
		return o.due(seq), seq >= o.messages-o.measured && strings.HasPrefix(d.Target, prefix)
	})
}

// due returns when the message with this number is due, counted from the start of the run.
func (o *outcome) due(seq int) time.Duration {
	return time.Duration(seq) * time.Second / time.Duration(o.rate)
}

// canaries returns the same for the canary's messages. They are due in the middle of each second.
func (o *outcome) canaries() []float64 {
	return o.generators[0].written(true, func(d *fake.Delivery) (due time.Duration, measured bool) {
		return time.Duration(seqOf(d.ID))*time.Second + time.Second/2, true
	})
}

// written reads the log of the canary's messages or of the load's. due returns when a message is due, counted
// from the start of the run.
func (g *generated) written(canary bool, due func(d *fake.Delivery) (at time.Duration, measured bool)) []float64 {
	began := g.began().Add(time.Millisecond)
	var all []float64
	for i := range g.log {
		d := &g.log[i]
		if strings.Contains(d.ID, ".canary.") != canary {
			continue
		}
		if at, measured := due(d); measured {
			all = append(all, max(0, millisOf(d.Written.Sub(began.Add(at)))))
		}
	}
	if all == nil {
		must.Fail("the pipeline has no record of a message")
	}
	slices.Sort(all)
	return all
}

// began and ended read the times of the run from its report.
func (g *generated) began() time.Time {
	return must.Get(time.Parse(time.RFC3339Nano, g.run.Run.Started))
}
func (g *generated) ended() time.Time {
	if g.run.Run.Ended == nil {
		must.Fail("the run did not end")
	}
	return must.Get(time.Parse(time.RFC3339Nano, *g.run.Run.Ended))
}

func millisOf(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

func counted(what string, expected, measured int) row {
	return row{what, count(expected), count(measured), exact, measured == expected}
}

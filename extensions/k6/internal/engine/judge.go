package engine

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"strings"
	"time"

	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/judge"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/limits"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/render"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// judge sets the verdict of a report. ran is how long an unfinished run has lasted.
func (d description) judge(r *runfile.Run, doubts []string, ran time.Duration) runfile.Verdict {
	rules, replaced := d.run.judging.Rules(d.run.builtIn())
	aborted, cutOff := d.run.judging.Aborted(), "the run was "+render.CutOff(ran, d.planned())
	if cause := d.run.life.now().cause; cause != "" && len(aborted) == 0 {
		cutOff += ": " + cause
	}
	r.Scene = d.scene()
	return judge.Of(judge.Evidence{
		Run: r, CutOff: cutOff, Doubts: doubts, Limits: rules,
		Replaced: replaced, Aborted: aborted, Cores: runtime.GOMAXPROCS(0), Unattended: d.run.sending.open.Unattended(),
		AtMostOnce: d.run.options.from.AtMostOnce, Halted: d.run.IsHalted(), Senders: d.mostUnderWay(),
		SendersBy: d.sendersBy(),
		Unread:    d.run.options.from.Unread,
	})
}

// scene is what a cause needs besides run.json.
func (d description) scene() *runfile.Scene {
	s := &runfile.Scene{Subscribed: d.run.options.from.Words, Greeted: d.run.greeted}
	if d.run.options.Protocol == "HTTP" {
		path, _, query := strings.Cut(d.run.options.Ingest.Path, "?")
		if s.URL = words.Mask(d.run.options.Ingest.URL) + path; query { // it may hold a secret
			s.URL += "?…"
		}
	}
	if d.run.external == nil && d.run.options.Publishers == nil && !d.run.options.profile.Closed() {
		s.InFlight = d.run.segment.Scale(d.mostUnderWay())
	}
	d.run.notes.note(func() { s.Abandoned = d.run.notes.abandoned })
	if first := d.run.parts.Foreign(); first != nil {
		s.Sample, s.Carries = runfile.ExcerptOf(first), d.run.carries(first)
	}
	return s
}

// mostUnderWay is how many requests all instances together may have under way.
func (d description) mostUnderWay() int {
	if d.run.parts.Scripted.Load() {
		return d.run.options.Senders
	}
	return d.run.sending.most
}

// sendersBy names what limits the senders; empty: a caller sends.
func (d description) sendersBy() string {
	switch {
	case d.run.external != nil:
		return ""
	case d.run.parts.Scripted.Load():
		return "SENDERS, or senders of new Run()"
	}
	return "SENDERS, in ingest and matrix CONNECTIONS, or maxSenders of new Run()"
}

// carries reports whether a message has the run's id in some form.
func (e *Engine) carries(payload []byte) bool { return bytes.Contains(payload, []byte(e.parts.ID)) }

func (e *Engine) measured() *ledger.Times {
	total := ledger.NewTimes(len(e.options.stages))
	for i, p := range e.options.profile.Phases {
		if p.Measured {
			total.Merge(e.Ledger.Times(i))
		}
	}
	return total
}

// planned is the planned length of the load; 0: it depends on the pipeline.
func (d description) planned() time.Duration {
	p := d.run.options.profile
	if slices.ContainsFunc(p.Phases, func(ph profile.Phase) bool { return ph.Requests > 0 || ph.Drain > 0 }) {
		return 0
	}
	return p.Duration()
}

// values returns the module's metrics at the end of the run, without arrival_latency.
func (e *Engine) values() map[string]float64 {
	values, account := map[string]float64{"arrival_p99": limits.Unmeasured}, e.Ledger.Final()
	for _, count := range judge.Counts {
		values["arrival_"+count.Name] = float64(count.Of(account))
	}
	arrival := e.measured().Arrival
	if p99 := runfile.NewLatency(&arrival, false).P99; p99 != nil {
		values["arrival_p99"] = *p99
	}
	for name, within := range e.within.all() {
		values[name] = runfile.ShareWithin(arrival.Histogram, within.limit)
	}
	return values
}

// conclude judges the module's metrics and pushes them to k6, for the script's thresholds.
func (v *vu) conclude(ctx context.Context, e *Engine) {
	values := e.values()
	e.judging.Measured(values, e.lasted())
	verdict := e.report(false).Verdict
	undecided := func(r runfile.Rule) bool { return r.Undecided || r.IsBroken() && r.Result == runfile.Invalid }
	values["arrival_invalid"] = 0
	for _, rule := range verdict.Rules {
		if undecided(rule) {
			values["arrival_invalid"]++
		}
	}
	samples := make(metrics.Samples, 0, len(values))
	for name, value := range values {
		samples = append(samples, v.aborts.sample(v.state, v.metrics.own(e, name), value))
	}
	metrics.PushIfNotDone(ctx, v.state.Samples, samples)
	// Rules that are not judged yet do not count.
	if slices.ContainsFunc(verdict.Rules, func(r runfile.Rule) bool {
		return undecided(r) || r.IsBroken() && r.Result != runfile.Doubtful
	}) {
		e.judging.Mark(v.state.TestStatus, values, v.metrics.Judged)
	}
}

func (e *Engine) lasted() time.Duration {
	return max(0, e.life.now().ended.Sub(e.Epoch))
}

// builtIn are the thresholds that every run has. k6 gets them so that it ends with exit code 99.
func (e *Engine) builtIn() map[string][]string {
	all := map[string][]string{"arrival_invalid": {limits.None}}
	for _, end := range limits.AccountEnds {
		all["arrival_"+end] = []string{limits.None}
	}
	if !e.options.from.AtMostOnce {
		for _, end := range ledger.JudgedCounts(ledger.Promised) {
			all["arrival_"+end.Name] = []string{limits.None}
		}
	}
	return all
}

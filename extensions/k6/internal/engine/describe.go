package engine

import (
	"cmp"
	"os"
	"slices"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/facts"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

const stampFormat = "2006-01-02T15:04:05.000Z"

// report describes the run as it stands. lossless adds the histograms, for the last report of a run.
func (e *Engine) report(lossless bool) *runfile.Run {
	timeline, err := e.timeline()
	if err != nil {
		return e.describe(lossless, timeline, "the run's timeline can't be read: "+err.Error())
	}
	return e.describe(lossless, timeline)
}

// describe makes the report of the run as it stands, with these seconds and doubts.
func (e *Engine) describe(lossless bool, timeline []runfile.Interval, doubts ...string) *runfile.Run {
	now := e.life.now()
	ended, finished := now.ended, now.finished
	noted, classes := e.notes.noted()
	noted.doubts = append(noted.doubts, doubts...)

	var ran time.Duration
	standing := e.Ledger.Running(func() int {
		if ran = e.Elapsed(); !ended.IsZero() {
			ran = max(0, ended.Sub(e.Epoch))
		}
		return e.Pacer.Due(ran)
	})
	spans := e.phases.Until(ran)
	if finished {
		standing, spans = e.Ledger.Ended(), e.phases.Now()
	}
	account := standing.Account
	r := &runfile.Run{
		Schema: runfile.Schema, Run: e.identity(),
		Account: account, Stages: e.options.stages, Clock: e.describeClock(noted.processes),
		Canary: e.canary.Describe(lossless), Health: e.describeHealth(lossless),
		Timeline: timeline, Resources: noted.resources, Errors: classes,
		Environment: e.environment(), Steps: []runfile.Step{}, Figures: noted.figures, Flows: []runfile.FlowResult{},
	}
	if finished {
		stamp := ended.UTC().Format(stampFormat)
		r.Run.Ended = &stamp
	}
	e.describeLatencies(r, standing, spans, noted, lossless)
	if finished {
		r.Targets, r.Messages = runfile.NewTargets(e.Ledger.Targets()), e.describeMessages()
	}
	r.Facts.LoadFacts = e.counted(r.Run.Profile.Phases)
	facts.Offer(r) // a rate that was not offered is judged
	r.Verdict = e.judge(r, noted.doubts, ran)
	facts.Conclude(r, noted.answer)
	return r
}

// timeline reads the seconds so far from the run's directory: in memory, those of a day would have 80 MB.
func (e *Engine) timeline() ([]runfile.Interval, error) {
	dir := e.dir.path()
	if dir == "" {
		return []runfile.Interval{}, nil
	}
	seconds, err := runfile.ReadTimeline(dir)
	for i := range seconds {
		// A message that was due in a second may be sent and arrive after it, so these figures were not final then.
		t := seconds[i].T
		seconds[i].CanaryMS, seconds[i].DueBins = e.canary.LatencyOf(t), e.Ledger.DueBins(t)
		seconds[i].LateMaxMS, seconds[i].Offered = e.lateMax(t), e.offered(t, seconds[i].Scheduled)
	}
	return seconds, err
}

// lateMax is the largest lateness, in ms, of what was due in a second and has been sent; nil: nothing.
func (e *Engine) lateMax(second int) *float64 {
	us, ok := e.Ledger.MostLate(second)
	if !ok {
		return nil
	}
	return new(float64(us) / 1000)
}

// offered is how many of the messages that were due in a second were sent in one as good as it; nil: the closed model.
func (e *Engine) offered(second, due int) *int {
	if e.Pacer.Closed() {
		return nil
	}
	return new(min(due, e.Ledger.SentIn(second)))
}

// describeLatencies fills in the latencies of the steps, the flows and the whole run.
func (e *Engine) describeLatencies(r *runfile.Run, standing ledger.Standing, spans []schedule.Span, noted lists,
	lossless bool) {
	traced := noted.sampled
	total := ledger.NewTimes(len(e.options.stages))
	counts := standing.Phases
	for i, p := range e.options.profile.Phases {
		span := spans[i]
		if !span.Begun {
			continue
		}
		times := e.Ledger.Times(i)
		if p.Measured {
			total.Merge(times)
		}
		seconds := max(span.End-span.Start, schedule.Ending).Seconds()
		step := runfile.Step{
			VUs: e.vus(p), Name: p.Name, StartS: span.Start.Seconds(), DurationS: seconds, Measured: p.Measured,
			Requests: counts[i].Requests, Scheduled: counts[i].Messages, Accepted: counts[i].Accepted,
			Taken: counts[i].Taken, Due: counts[i].Due,
			Arrived:       int(times.Arrival.Count),
			ScheduledPerS: float64(counts[i].Messages) / seconds, AcceptedPerS: float64(counts[i].Accepted) / seconds,
			ArrivedPerS: float64(times.Arrival.Count) / seconds,
			Backlog:     span.Backlog, DrainedS: span.Drained,
			CPUPercent: runfile.CPUBetween(r.Resources, span.Start.Seconds(), span.End.Seconds()),
			Latency:    runfile.NewLatencies(e.options.stages, times, lossless),
		}
		if at, ok := e.Ledger.AlmostAll(i); ok {
			step.Arrived99S = new(float64(at)/1e6 - step.StartS)
		}
		step.Sampled = traced.Of(i).Against(step.Latency.Arrival)
		r.Steps = append(r.Steps, step)
	}
	r.Latency = runfile.NewLatencies(e.options.stages, total, lossless)
	r.ArrivalBins, r.Tail = runfile.NewBins(&total.Arrival), runfile.NewTail(e.Ledger)
	r.Sampled, r.Spans = traced.All().Against(r.Latency.Arrival), noted.spans.Against(r.Latency.Arrival)

	for i, f := range e.options.profile.Flows {
		s, sums := e.Ledger.FlowTimes(i)
		r.Flows = append(r.Flows, runfile.FlowResult{
			Name: f.Name, Scheduled: standing.Flows[i], Arrived: s.Count, Arrival: runfile.NewLatency(s, lossless),
			Stamped: sums.Stamped, Stages: sums.Means(e.options.stages),
		})
	}
}

func (e *Engine) describeClock(processes []runfile.ProcessClock) runfile.Clock {
	r := e.Clock.Read()
	c := runfile.Clock{Reference: "monotonic", OffsetMS: new(0.0), DriftPPM: new(0.0), Processes: processes}
	if limit := e.options.Clock.Limit; limit != nil {
		c.LimitMS = new(limit.duration().Seconds() * 1000)
	}
	if r.Rounds == 0 {
		return c
	}
	c.Reference = "redis TIME"
	*c.OffsetMS, c.GeneratorBoundMS, *c.DriftPPM, c.Probes = r.Offset/1000, r.Bound/1000, r.Drift, r.Rounds
	c.OneHost = r.Offset == 0 && r.Drift == 0 && e.options.loopback()
	bounds := []float64{c.GeneratorBoundMS}
	for _, p := range processes {
		bounds = append(bounds, p.BoundMS)
		c.OneHost = c.OneHost && p.OffsetMS == 0
	}
	slices.Sort(bounds)
	for _, b := range bounds[max(0, len(bounds)-2):] {
		c.BoundMS += b
	}
	return c
}

func (e *Engine) describeHealth(lossless bool) runfile.Health {
	lateness, reading := e.Ledger.Lateness(), e.Ledger.Reading()
	h := runfile.Health{
		Gaps: e.Receiver().Gaps(), SamplesDiscarded: int(e.pending.discarded.Load()), TrendOneIn: e.pending.trend.n,
	}
	if lateness.Count > 0 {
		h.Lateness = new(runfile.NewLatency(lateness, lossless))
	}
	if reading.Waits.Count > 0 {
		h.SocketWait = new(runfile.NewLatency(&reading.Waits, lossless))
	}
	h.ArrivalStamps = runfile.ArrivalStamps{Kernel: reading.Kernel, Read: reading.Read}
	return h
}

func (e *Engine) model() string {
	if e.Pacer.Closed() {
		return runfile.Closed
	}
	return runfile.Open
}

// vus is the concurrency of a closed-model phase, nil in the open model.
func (e *Engine) vus(p profile.Phase) *int {
	if !e.Pacer.Closed() {
		return nil
	}
	return new(e.segment.Scale(p.VUs))
}

func (o *Options) describeProfile() runfile.Profile {
	p := o.profile
	d := runfile.Profile{Name: p.Name}
	for _, ph := range p.Phases {
		phase := runfile.Phase{Name: ph.Name, DurationS: ph.Duration.Seconds(), Measured: ph.Measured,
			Requests: ph.Requests}
		if p.Closed() {
			phase.VUs = new(ph.VUs)
		} else if phase.ArrivalRate = new(ph.Rate); ph.Ramps() {
			phase.RampTo = new(ph.RampTo)
		}
		d.Phases = append(d.Phases, phase)
	}
	for _, f := range p.Flows {
		flow := runfile.Flow{Name: f.Name, Weight: f.Weight, Messages: f.Messages, Deliveries: f.Deliveries}
		if o.Fuzz == nil {
			flow.PayloadBytes = new(f.PayloadBytes)
		}
		d.Flows = append(d.Flows, flow)
	}
	return d
}

func (e *Engine) identity() runfile.Identity {
	labels := e.options.Labels
	if labels == nil {
		labels = map[string]string{}
	}
	return runfile.Identity{
		ID: e.parts.ID, Name: e.dir.name(), Generator: e.instance.met, Tool: e.options.tool,
		Method: e.options.Name, Protocol: e.options.Protocol, Model: e.model(), Topology: e.options.Topology,
		Network: e.options.Network, Labels: labels, Started: e.Epoch.UTC().Format(stampFormat),
		Command: cmp.Or(e.options.Command, words.Command(os.Args[1:])), Profile: e.options.describeProfile(),
	}
}

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

// description makes a report of a run as it stands. It reads the run, and changes nothing.
type description struct {
	run      *Engine
	lossless bool // the report has the histograms, as the last one of a run does
}

// report describes the run as it stands.
func (e *Engine) report(lossless bool) *runfile.Run {
	d := description{e, lossless}
	timeline, err := d.timeline()
	if err != nil {
		return d.describe(timeline, "the run's timeline can't be read: "+err.Error())
	}
	return d.describe(timeline)
}

// describe makes the report of the run as it stands, with these seconds and doubts.
func (d description) describe(timeline []runfile.Interval, doubts ...string) *runfile.Run {
	now := d.run.life.now()
	ended, finished := now.ended, now.finished
	noted, classes := d.run.notes.noted()
	noted.doubts = append(noted.doubts, doubts...)

	var ran time.Duration
	standing := d.run.Ledger.Running(func() int {
		if ran = d.run.Elapsed(); !ended.IsZero() {
			ran = max(0, ended.Sub(d.run.Epoch))
		}
		return d.run.Pacer.Due(ran)
	})
	spans := d.run.phases.Until(ran)
	if finished {
		standing, spans = d.run.Ledger.Ended(), d.run.phases.Now()
	}
	account := standing.Account
	r := &runfile.Run{
		Schema: runfile.Schema, Run: d.identity(),
		Account: account, Stages: d.run.options.stages, Clock: d.describeClock(noted.processes),
		Canary: d.run.canary.Describe(d.lossless), Health: d.describeHealth(),
		Timeline: timeline, Resources: noted.resources, Errors: classes,
		Environment: d.environment(), Steps: []runfile.Step{}, Figures: noted.figures, Flows: []runfile.FlowResult{},
	}
	if names := d.run.sending.executors.names(); names != "" {
		r.Environment[runfile.Executors] = names
	}
	if finished {
		stamp := ended.UTC().Format(stampFormat)
		r.Run.Ended = &stamp
	}
	d.describeLatencies(r, standing, spans, noted)
	d.describeRates(r)
	if finished {
		r.Targets, r.Messages = runfile.NewTargets(d.run.Ledger.Targets()), d.run.naming().describeMessages()
	}
	r.Facts.LoadFacts = d.counted(r.Run.Profile.Phases)
	facts.Offer(r) // a rate that was not offered is judged
	r.Verdict = d.judge(r, noted.doubts, ran)
	facts.Conclude(r, noted.answer)
	return r
}

// timeline reads the seconds so far from the run's directory: in memory, those of a day would have 80 MB.
func (d description) timeline() ([]runfile.Interval, error) {
	dir := d.run.dir.path()
	if dir == "" {
		return []runfile.Interval{}, nil
	}
	seconds, err := runfile.ReadTimeline(dir)
	for i := range seconds {
		// A message that was due in a second may be sent and arrive after it, so these figures were not final then.
		t := seconds[i].T
		seconds[i].CanaryMS, seconds[i].DueBins = d.run.canary.LatencyOf(t), d.run.Ledger.DueBins(t)
		if d.run.Pacer.Told() { // some of the second's requests were told after it
			seconds[i].Requests, seconds[i].Scheduled = d.run.Pacer.ToldIn(t), d.run.Pacer.ToldIn(t)
		}
		seconds[i].LateMaxMS, seconds[i].Offered = lateMax(d.run.Ledger, t), d.offered(t, seconds[i].Scheduled)
	}
	return seconds, err
}

// lateMax is the largest lateness, in ms, of what was due in a second and has been sent; nil: nothing.
func lateMax(l *ledger.Ledger, second int) *float64 {
	us, ok := l.MostLate(second)
	if !ok {
		return nil
	}
	return new(float64(us) / 1000)
}

// offered is how many of the messages that were due in a second were sent in one as good as it; nil: the closed model.
func (d description) offered(second, due int) *int {
	if d.run.Pacer.Closed() {
		return nil
	}
	return new(min(due, d.run.Ledger.SentIn(second)))
}

// describeLatencies fills in the latencies of the steps, the flows and the whole run.
func (d description) describeLatencies(r *runfile.Run, standing ledger.Standing, spans []schedule.PhaseTimes,
	noted lists) {
	traced := noted.sampled
	total := ledger.NewTimes(len(d.run.options.stages))
	counts := standing.Phases
	for i, p := range d.run.options.profile.Phases {
		span := spans[i]
		if !span.Begun {
			continue
		}
		times := d.run.Ledger.Times(i)
		if p.Measured {
			total.Merge(times)
		}
		seconds := max(span.End-span.Start, schedule.Ending).Seconds()
		step := runfile.Step{
			VUs: d.vus(p), Name: p.Name, StartS: span.Start.Seconds(), DurationS: seconds, Measured: p.Measured,
			Requests: counts[i].Requests, Scheduled: counts[i].Messages, Accepted: counts[i].Accepted,
			Taken: counts[i].Taken, Due: counts[i].Due,
			Arrived:       int(times.Arrival.Count),
			ScheduledPerS: float64(counts[i].Messages) / seconds, AcceptedPerS: float64(counts[i].Accepted) / seconds,
			ArrivedPerS: float64(times.Arrival.Count) / seconds,
			Backlog:     span.Backlog, DrainedS: span.Drained,
			CPUPercent: runfile.CPUBetween(r.Resources, span.Start.Seconds(), span.End.Seconds()),
			Latency:    runfile.NewLatencies(d.run.options.stages, times, d.lossless),
		}
		if at, ok := d.run.Ledger.AlmostAll(i); ok {
			step.Arrived99S = new(float64(at)/1e6 - step.StartS)
		}
		step.Sampled = traced.Of(i).Against(step.Latency.Arrival)
		r.Steps = append(r.Steps, step)
	}
	r.Latency = runfile.NewLatencies(d.run.options.stages, total, d.lossless)
	r.ArrivalBins, r.Tail = runfile.NewBins(&total.Arrival), runfile.NewTail(d.run.Ledger)
	r.Sampled, r.Spans = traced.All().Against(r.Latency.Arrival), noted.spans.Against(r.Latency.Arrival)

	for i, f := range d.run.options.profile.Flows {
		s, sums := d.run.Ledger.FlowTimes(i)
		r.Flows = append(r.Flows, runfile.FlowResult{
			Name: f.Name, Scheduled: standing.Flows[i], Arrived: s.Count, Arrival: runfile.NewLatency(s, d.lossless),
			Stamped: sums.Stamped, Stages: sums.Means(d.run.options.stages),
		})
	}
}

// describeRates gives the phases of a run whose requests are told the rate that was told, on average.
func (d description) describeRates(r *runfile.Run) {
	if !d.run.Pacer.Told() {
		return
	}
	for i := range r.Run.Profile.Phases {
		p := &r.Run.Profile.Phases[i]
		p.ArrivalRate, p.RampTo = new(0.0), nil
		for _, step := range r.Steps {
			if step.Name == p.Name {
				*p.ArrivalRate = float64(step.Requests) / step.DurationS
			}
		}
	}
}

func (d description) describeClock(processes []runfile.ProcessClock) runfile.Clock {
	r := d.run.Clock.Read()
	c := runfile.Clock{Reference: "monotonic", OffsetMS: new(0.0), DriftPPM: new(0.0), Processes: processes}
	if limit := d.run.options.Clock.Limit; limit != nil {
		c.LimitMS = new(limit.duration().Seconds() * 1000)
	}
	if r.Rounds == 0 {
		return c
	}
	c.Reference = "redis TIME"
	*c.OffsetMS, c.GeneratorBoundMS, *c.DriftPPM, c.Probes = r.Offset/1000, r.Bound/1000, r.Drift, r.Rounds
	c.OneHost = r.Offset == 0 && r.Drift == 0 && d.run.options.loopback()
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

func (d description) describeHealth() runfile.Health {
	lateness, reading := d.run.Ledger.Lateness(), d.run.Ledger.Reading()
	h := runfile.Health{
		Gaps: d.run.Receiver().Gaps(), SamplesDiscarded: int(d.run.pending.discarded.Load()),
		TrendOneIn: d.run.pending.trend.n,
	}
	if lateness.Count > 0 {
		h.Lateness = new(runfile.NewLatency(lateness, d.lossless))
	}
	if reading.Waits.Count > 0 {
		h.SocketWait = new(runfile.NewLatency(&reading.Waits, d.lossless))
	}
	h.ArrivalStamps = runfile.ArrivalStamps{Kernel: reading.Kernel, Read: reading.Read}
	return h
}

func (d description) model() string {
	if d.run.Pacer.Closed() {
		return runfile.Closed
	}
	return runfile.Open
}

// vus is the concurrency of a closed-model phase, nil in the open model.
func (d description) vus(p profile.Phase) *int {
	if !d.run.Pacer.Closed() {
		return nil
	}
	return new(d.run.segment.Scale(p.VUs))
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

func (d description) identity() runfile.Identity {
	labels := d.run.options.Labels
	if labels == nil {
		labels = map[string]string{}
	}
	return runfile.Identity{
		ID: d.run.parts.ID, Name: d.run.dir.name(), Generator: d.run.instance.met, Tool: d.run.options.tool,
		Method: d.run.options.Name, Protocol: d.run.options.Protocol, Model: d.model(), Topology: d.run.options.Topology,
		Network: d.run.options.Network, Labels: labels, Started: d.run.Epoch.UTC().Format(stampFormat),
		Command: cmp.Or(d.run.options.Command, words.Command(os.Args[1:])), Profile: d.run.options.describeProfile(),
	}
}

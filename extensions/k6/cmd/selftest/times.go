package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// slow is the latency in ms from which on a message counts as delayed by a freeze.
const slow = 100.0

// slack is how much a latency may exceed the expected one, in ms: sockets and scheduler add time. Nothing may
// arrive earlier than expected. The short form shares the machine with other work.
func (f form) slack(expected float64) float64 {
	return [...]float64{full: max(10, expected/10), short: max(25, expected/2)}[f]
}

func (f form) fastestSlack() float64 { return [...]float64{full: 1, short: 10}[f] }

// frozenSlack is the slack of messages that a freeze delayed: the backlog comes at once and keeps every core busy.
func (f form) frozenSlack() float64 { return [...]float64{full: 50, short: 100}[f] }

// between returns the row of a latency in ms that must lie in [low−early, low+late].
func between(what, expected string, measured, low, early, late float64) row {
	r := row{
		what, expected, millis(measured), fmt.Sprintf("−%s +%s ms", trim(early), trim(late)),
		measured >= low-early && measured <= low+late,
	}
	if measured < low-early { // no machine, however busy, makes anything faster
		r.tolerance = exact
	}
	return r
}

// fastest compares the shortest arrival latency with the pipeline's delay.
func fastest(delay time.Duration) check {
	return func(o *outcome) []row {
		expected := millisOf(delay)
		got := *o.generators[0].run.Latency.Arrival.Min
		return []row{between("arrival, fastest", millis(expected), got, expected, 0, o.form.fastestSlack())}
	}
}

// handlerLate requires that the lateness of a handler is measured, and makes the run invalid.
func handlerLate(late time.Duration) check {
	return func(o *outcome) []row {
		g, expected := o.generators[0], millisOf(late)
		waited := g.run.Health.SocketWait
		if waited == nil || waited.P99 == nil {
			must.Fail("no lateness of the handler was measured")
		}
		broken := slices.ContainsFunc(g.run.Verdict.Rules, func(r runfile.Rule) bool {
			return r.Name == "socket_wait" && r.OK != nil && !*r.OK
		})
		v := g.run.Verdict.Result
		return []row{
			between("lateness of the handler, p99", millis(expected), *waited.P99, expected, 5, o.form.slack(expected)),
			{"verdict", runfile.Invalid + ", for the handler", v, exact, v == runfile.Invalid && broken &&
				g.exit == thresholdsCrossed},
		}
	}
}

// quantile compares a percentile of the arrival latency with the pipeline's own record.
func quantile(percentile float64, delay time.Duration) check {
	return func(o *outcome) []row {
		expected := millisOf(delay)
		least := max(expected, at(o.arrivals(), percentile))
		got := reported(o.generators[0].run.Latency.Arrival, percentile)
		what := fmt.Sprintf("arrival, p%g", percentile)
		return []row{between(what, recorded(expected, least), got, least, 0, o.form.slack(expected))}
	}
}

// slowCount compares how many messages a freeze delayed: all that were due during it, except in its last 100 ms.
func slowCount(o *outcome) []row {
	logged := o.arrivals()
	expected, got := dueInFreeze(o), above(histogram(o.generators[0].run.Latency.Arrival))
	low := slower(logged, slow)
	// the way to the socket may add to a slightly shorter one
	high := slower(logged, slow-min(o.form.frozenSlack(), slow/2))
	return []row{{
		"arrivals slower than 100 ms", fmt.Sprintf("≥ %s (fake ≥ %s)", count(expected), count(low)), count(got),
		fmt.Sprintf("−0 +%s", count(high-low)),
		got >= expected && got >= low && got <= high,
	}}
}

// dueInFreeze counts the requests that are due more than 100 ms before the end of a freeze. It may begin between two.
func dueInFreeze(o *outcome) int {
	return int((o.generators[0].fake.Freeze.For.Seconds()-slow/1000)*float64(o.rate)) - 1
}

// slowQuartiles compares the quartiles of the messages that a freeze delayed.
func slowQuartiles(o *outcome) (rows []row) {
	g, logged := o.generators[0], o.arrivals()
	h := histogram(g.run.Latency.Arrival)
	logged = logged[len(logged)-slower(logged, slow):]
	counted := above(h)
	last := g.fake.Freeze.For.Seconds() * 1000
	for _, p := range []float64{25, 50, 75} {
		percentileOfAll := 100 * (1 - float64(counted)*(1-p/100)/float64(h.TotalCount()))
		expected := at(logged, p)
		rows = append(rows, between(fmt.Sprintf("their p%g", p), recorded(slow+(last-slow)*p/100, expected),
			float64(h.ValueAtPercentile(percentileOfAll))/1000, expected, o.form.frozenSlack(), o.form.frozenSlack()))
	}
	return rows
}

// slowest compares the longest arrival latency: the request that starts the freeze waits for all of it.
func slowest(o *outcome) []row {
	g := o.generators[0]
	expected, last, got := millisOf(g.fake.Freeze.For), at(o.arrivals(), 100), *g.run.Latency.Arrival.Max
	r := between("arrival, slowest", recorded(expected, last), got, last, 0, o.form.frozenSlack())
	r.ok = r.ok && got >= expected
	return []row{r}
}

// first requires that the slowest message is the one with this number, and that it says which stage held it and for how
// long.
func first(seq int, held string, expected time.Duration) check {
	return func(o *outcome) []row {
		slow := o.generators[0].run.Messages.Slowest[0]
		longest := slices.MaxFunc(slices.Collect(maps.Keys(slow.StagesMS)), func(a, b string) int {
			return cmp.Compare(slow.StagesMS[a], slow.StagesMS[b])
		})
		text := fmt.Sprintf("%d, %s %s", seq, held, millis(millisOf(expected)))
		r := between("slowest message, its stage", text, slow.StagesMS[held], millisOf(expected),
			o.generators[0].run.Clock.BoundMS, o.form.frozenSlack())
		r.measured = fmt.Sprintf("%d, %s %s", seqOf(slow.ID), longest, r.measured)
		r.ok = r.ok && seqOf(slow.ID) == seq && longest == held
		return []row{r}
	}
}

// uncorrected requires that latencies from the actual send miss most of the delay: each sender was delayed only
// once. It shows what measuring from the due time is for.
func uncorrected(o *outcome) []row {
	l := o.generators[0].run.Latency
	got, most := above(histogram(l.FromSend)), above(histogram(l.Arrival))/2
	misses := got > 0 && got < most
	return []row{{"from send, slower than 100 ms", "misses most of them", count(got), "< " + count(most), misses}}
}

// stamped requires kernel stamps for all messages but the first few: the kernel starts to stamp with a delay.
func stamped(o *outcome) []row {
	const most = 5
	s := o.generators[0].run.Health.ArrivalStamps
	got := fmt.Sprintf("%s, read: %s", count(int(s.Kernel)), count(int(s.Read)))
	return []row{{"arrived by the kernel's stamp", "≥ " + count(o.measured-most), got, exact,
		int(s.Kernel) >= o.measured-most && int(s.Kernel+s.Read) == o.measured}}
}

// readDelay compares when messages arrived with when they were written, by the stamp in each: the stage delivery
// is the instrument's error plus the time of the write. It leaves out messages whose write took too long to know
// better. The rest holds on any machine, because only the acknowledgement waits for the reader.
func readDelay(o *outcome) []row {
	const most, share = 0.1, 0.01 // ms
	g := o.generators[0]
	h := histogram(g.run.Latency.Stages["delivery"])
	late, known := 0, len(g.log)
	acked := make([]float64, 0, len(g.log))
	for _, d := range g.log {
		acked = append(acked, millisOf(d.Acked.Sub(d.Handed)))
		if millisOf(d.Handed.Sub(d.Made)) > most {
			known--
			late--
		}
	}
	for _, bar := range h.Distribution() {
		if float64(bar.From)/1000 > most {
			late += int(bar.Count)
		}
	}
	slices.Sort(acked)
	expected := fmt.Sprintf("≤ 1 %% (acked in %s)", trim(at(acked, 99)))
	got := fmt.Sprintf("%s of %s, p99 %s", count(max(0, late)), count(known),
		trim(float64(h.ValueAtPercentile(99))/1000))
	return []row{{"0.1 ms later than written", expected, got, exact, known > 0 &&
		float64(late) <= share*float64(known)}}
}

func histogram(l runfile.Latency) *hdrhistogram.Histogram {
	if l.Histogram == nil {
		must.Fail("the report holds no histogram of %d samples", l.Count)
	}
	return must.Get(hdrhistogram.Decode([]byte(*l.Histogram)))
}

// above counts the samples that are longer than slow.
func above(h *hdrhistogram.Histogram) (n int) {
	for _, bar := range h.Distribution() {
		if float64(bar.From)/1000 > slow {
			n += int(bar.Count)
		}
	}
	return n
}

// slower counts the times that are longer than ms; the times ascend.
func slower(times []float64, ms float64) int {
	return len(times) - sort.Search(len(times), func(i int) bool { return times[i] > ms })
}

// at returns a percentile of ascending times, as HdrHistogram computes it.
func at(times []float64, percentile float64) float64 {
	i := int(percentile/100*float64(len(times)) + 0.5)
	return times[min(max(i, 1), len(times))-1]
}

// recorded formats the expected value and the one in the pipeline's log.
func recorded(expected, logged float64) string {
	return fmt.Sprintf("%s (fake ≥ %s)", millis(expected), trim(logged))
}

// probing is how old a run's last clock probe may be at its end: probes are 100 ms apart, and a busy machine
// misses some.
const probing = 500 * time.Millisecond

// offset compares the offset that the run found for the clock of Redis, within the bound that the run states.
func offset(o *outcome) []row {
	g := o.generators[0]
	clock, ended := g.fake.Redis.Clock, g.ended()
	// no clock drifts backwards here
	low, high := millisOf(clock.Error(ended.Add(-probing))), millisOf(clock.Error(ended))
	expected := micros(high)
	if low != high {
		expected = micros(low) + " to " + expected
	}
	c := g.run.Clock
	return []row{proven(row{
		"clock, offset", expected + " ms", micros(*c.OffsetMS) + " ms", "its bound " + millis(c.BoundMS),
		c.Reference == "redis TIME" && *c.OffsetMS >= low-c.BoundMS && *c.OffsetMS <= high+c.BoundMS,
	})}
}

// drift compares the drift, within 5 ppm and the bounds at both ends of the run. The short form leaves it out:
// in two seconds the bounds allow nearly everything.
func drift(ppm float64) check {
	return func(o *outcome) []row {
		if o.form == short {
			return nil
		}
		g := o.generators[0]
		c := g.run.Clock
		tolerance := 5 + 2*c.BoundMS*1000/g.ended().Sub(g.began()).Seconds()
		return []row{{
			"clock, drift", fmt.Sprintf("%g ppm", ppm), fmt.Sprintf("%.1f ppm", *c.DriftPPM),
			fmt.Sprintf("±%.1f ppm", tolerance),
			math.Abs(*c.DriftPPM-ppm) <= tolerance,
		}}
	}
}

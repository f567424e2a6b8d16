package facts

import (
	"fmt"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// titles are the titles of the charts of a report, by key. A highest value covers the measured phases and their
// drain: a warm-up says nothing about the pipeline.
func titles(r *runfile.Run) map[string]string {
	all := map[string]string{}
	seconds := arrivalSeconds(r)
	add := func(key, title string) {
		if title != "" {
			all[key] = title
		}
	}
	add("search", runfile.SearchTitle(r.Probes))
	add("connections", connectionsTitle(r))
	if len(r.Timeline) > 0 {
		add("messages", messagesTitle(r, seconds))
		add("deliveries", deliveriesTitle(r, seconds))
		add("backlog", backlogTitle(seconds))
		add("in_flight", inFlightTitle(seconds))
		add("payload", payloadTitle(seconds))
	}
	if !r.Account.Balanced {
		return all
	}
	add("percentiles", percentilesTitle(r.Latency.Arrival))
	add("distribution", distributionTitle(r.ArrivalBins))
	add("by_load", byLoadTitle(r.Facts.ByLoad))
	if runfile.Sweeps(r.Steps) {
		steps := runfile.SweepSteps(r.Steps)
		add("latency_by_vus", latencyByVUsTitle(turningOf(r), steps))
		add("throughput_by_vus", throughputByVUsTitle(steps))
		add("usl", uslNote(steps))
	}
	if len(r.Timeline) > 0 {
		add("refusals", refusalsTitle(r))
		add("burst", burstTitle(r.Facts.Recovery, seconds))
		if over := r.Facts.P99Over; over != nil {
			add("p99", p99OverTitle(r, over, r.Answer.P99LimitMS))
		} else {
			add("p99", p99Title(seconds, r.Answer.P99LimitMS))
		}
		add("arrival", worstTitle(seconds, "arrival", func(s *runfile.Interval) *runfile.Quantiles { return s.Arrival }))
		add("http", worstTitle(seconds, r.Run.Protocol,
			func(s *runfile.Interval) *runfile.Quantiles { return s.HTTP }))
		add("heat", bulkTitle(r.Latency.Arrival))
	}
	return all
}

// highest is the highest value of some seconds, and the first second that has it. known is false without a value.
func highest(seconds []*runfile.Interval, value func(*runfile.Interval) *float64) (most float64, at int, known bool) {
	for _, s := range seconds {
		if v := value(s); v != nil && (!known || *v > most) {
			most, at, known = *v, s.T, true
		}
	}
	return most, at, known
}

// highestCount is the highest count of some seconds; known is false if it is 0.
func highestCount(seconds []*runfile.Interval, count func(*runfile.Interval) int) (most, at int, known bool) {
	found, at, _ := highest(seconds, func(s *runfile.Interval) *float64 { return new(float64(count(s))) })
	return int(found), at, found > 0
}

// p99Title is about arrival p99 second by second; with too few deliveries a second about the slowest of each.
func p99Title(seconds []*runfile.Interval, limit *float64) string {
	p99 := func(s *runfile.Interval) *float64 { return s.Arrival.P99OrNil() }
	most, at, known := highest(seconds, p99)
	if !known {
		return slowestTitle(seconds)
	}
	worst := fmt.Sprintf("at most %s ms (%s)", words.MS(&most), moment(at))
	if limit == nil {
		return "p99 of each second was " + worst
	}
	above := 0
	for _, s := range seconds {
		if v := p99(s); v != nil && *v >= *limit {
			above++
		}
	}
	if above == 0 {
		return fmt.Sprintf("p99 of each second was below the limit of %s ms: %s", words.Figure(limit), worst)
	}
	return fmt.Sprintf("p99 was at or above the limit of %s ms in %s: %s", words.Figure(limit),
		words.Plural(above, "second"), worst)
}

func slowestTitle(seconds []*runfile.Interval) string {
	most, at, known := highest(seconds, func(s *runfile.Interval) *float64 {
		if s.Arrival == nil {
			return nil
		}
		return &s.Arrival.Max
	})
	if !known {
		return "No second of a measured phase has a delivery"
	}
	return fmt.Sprintf("The slowest delivery took %s ms (%s): a second has no p99 of its own", words.MS(&most), moment(at))
}

func worstTitle(seconds []*runfile.Interval, name string, of func(*runfile.Interval) *runfile.Quantiles) string {
	most, at, known := highest(seconds, func(s *runfile.Interval) *float64 { return of(s).P99OrNil() })
	if !known {
		return fmt.Sprintf("No second has enough samples for a p99 of %s latency", name)
	}
	return fmt.Sprintf("The worst second’s %s p99 is %s ms (%s)", name, words.MS(&most), moment(at))
}

func bulkTitle(arrival runfile.Latency) string {
	p50, p99 := arrival.At(50), arrival.At(99)
	if p50 == nil || p99 == nil {
		return "Too few deliveries for a percentile"
	}
	return fmt.Sprintf("Half of the deliveries arrived within %s ms, one in 100 took longer than %s ms", words.MS(p50),
		words.MS(p99))
}

// burstTitle is about the backlog after a burst, or what waited before the ingest instead.
func burstTitle(after *runfile.Recovery, seconds []*runfile.Interval) string {
	if after == nil {
		return ""
	}
	if leftNone(after) {
		title := "The burst left no backlog behind the ingest"
		most, at, _ := highestCount(seconds, func(s *runfile.Interval) int { return s.InFlight })
		if most <= 1 {
			return title
		}
		return title + fmt.Sprintf(": up to %s waited for its answer (%s)", words.Plural(most, "message"), moment(at))
	}
	drained := ", which had not drained when the run ended"
	switch {
	case after.CalmBacklog == nil:
		drained = ", with no second before it to compare with"
	case after.DrainedS != nil:
		drained = fmt.Sprintf(", which drained within %s s", words.Figure(new(max(1, *after.DrainedS))))
	}
	return fmt.Sprintf("The burst left a backlog of up to %s (%s)%s", deliveriesOf(after.PeakBacklog),
		moment(int(after.PeakS)), drained)
}

func deliveriesOf(n int) string {
	if n == 1 {
		return "1 delivery"
	}
	return words.Count(n) + " deliveries"
}

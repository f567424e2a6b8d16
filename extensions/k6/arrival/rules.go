package arrival

import (
	"fmt"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// How late a generator may be, to send and to read: lateness counts in the arrival latency, so a run stays honest whatever it
// is, but past this share of it the run tells more of the generator than of the pipeline. Below the floor it is the
// scheduler's.
const (
	lateShare = 0.05
	lateFloor = 2 * time.Millisecond
)

// The generator may use so much of its cores, in all but so many seconds of the run: a second of garbage collection is no
// reason to throw a run away.
const (
	busyShare   = 0.9
	busySeconds = 0.05
)

// stealMuch is from where on, in % of the host's CPU over the run, a hypervisor that gives it to others is named where the generator was
// held up: there it is the first suspect.
const stealMuch = 2

// negativeShare of the deliveries may have a stage below zero: stamps of a few µs may cross each other.
const negativeShare = 0.01

// clockShare is how much of a stage the bound of the clocks may be, for a stage that is longer than the bound.
const clockShare = 0.1

// tooMuch weighs a lateness of the generator against the arrival latency, both p99.
func tooMuch(late, arrival time.Duration) bool {
	return late > lateFloor && float64(late) > lateShare*float64(arrival)
}

// tooBusy counts the seconds in which the generator used more of its cores than it may, and reports whether they are too
// many.
func tooBusy(timeline []report.Interval, cores int) (seconds int, yes bool) {
	for _, i := range timeline {
		if cpu := i.Generator.CPUPercent; cpu != nil && *cpu > busyShare*100*float64(cores) {
			seconds++
		}
	}
	return seconds, float64(seconds) > busySeconds*float64(len(timeline))
}

// stolen names the hypervisor where it took much; empty where it did not.
func stolen(timeline []report.Interval) string {
	sum, most, seconds := 0.0, 0.0, 0
	for _, i := range timeline {
		if steal := i.Generator.StealPercent; steal != nil {
			sum, most, seconds = sum+*steal, max(most, *steal), seconds+1
		}
	}
	if seconds == 0 || sum < stealMuch*float64(seconds) {
		return ""
	}
	return fmt.Sprintf("the hypervisor took %.0f %% of this host's CPU meanwhile, and %.0f %% in the worst second", sum/float64(seconds), most)
}

// clockReasons are those not to trust stages that begin and end in different processes. On one host there is one clock, and
// the bound says only how well that could be proven.
func clockReasons(c report.Clock, t *ledger.Times) (reasons []string) {
	if c.LimitMS != nil && c.BoundMS > *c.LimitMS {
		reasons = append(reasons, fmt.Sprintf("the clock bound ±%.3f ms is above the limit of %.3f ms", c.BoundMS, *c.LimitMS))
	}
	if c.LimitMS != nil && len(c.Processes) == 0 && t.Stages[ledger.Queue].Count > 0 {
		reasons = append(reasons, "no process of the pipeline has told how well it knows the time, so the limit of the clock bound holds for the generator alone")
	}
	if c.OneHost {
		return reasons
	}
	var least ledger.Stage
	shortest := 0.0
	for _, s := range []ledger.Stage{ledger.Request, ledger.Queue, ledger.Delivery} {
		if t.Stages[s].Count == 0 {
			continue
		}
		p50 := float64(t.Stages[s].Histogram.ValueAtPercentile(50)) / 1000
		// A stage that is shorter than the bound is marked as such in the report.
		if p50 >= c.BoundMS && (shortest == 0 || p50 < shortest) {
			shortest, least = p50, s
		}
	}
	if shortest > 0 && c.BoundMS > clockShare*shortest {
		reasons = append(reasons, fmt.Sprintf("the clock bound ±%.3f ms is more than %.0f %% of the stage %s (p50 %.3f ms)",
			c.BoundMS, clockShare*100, least, shortest))
	}
	return reasons
}

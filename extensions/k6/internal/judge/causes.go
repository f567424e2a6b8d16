package judge

import (
	"fmt"
	"math"

	"github.com/arrival-bench/arrival/extensions/k6/internal/facts"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// busy counts the seconds in which the generator used more of its cores than allowed; known is false without
// CPU data.
func busy(timeline []runfile.Interval, cores int) (seconds int, known bool) {
	for _, i := range timeline {
		if cpu := i.Generator.CPUPercent; cpu != nil {
			known = true
			if outOfCPU(i, cores) {
				seconds++
			}
		}
	}
	return seconds, known
}

func outOfCPU(s runfile.Interval, cores int) bool {
	cpu := s.Generator.CPUPercent
	return cpu != nil && *cpu > busyShare*100*float64(cores)
}

// stolen names the hypervisor if the CPU steal was high; otherwise it is empty.
func stolen(r *runfile.Run) string {
	mean, worst, known := facts.Steal(r)
	if !known || mean < runfile.StealMuch {
		return ""
	}
	return fmt.Sprintf("the hypervisor took %s of this host's CPU during the run, and %s in the worst second",
		words.Percent(mean/100), words.Percent(worst/100))
}

// lateBy is why a generator was late, from the seconds in which it was later than limit (ms), and the advice as a
// sentence. The host comes first: on a full one senders wait for a core too, and answers for the pipeline's.
func (e Evidence) lateBy(limit float64) (why, remedy string) {
	lower := e.lowerRate(limit)
	late, full, taken, own, hostKnown := 0, 0, 0, 0, false
	for _, s := range e.Run.Timeline {
		if s.LateMaxMS == nil || *s.LateMaxMS <= limit {
			continue
		}
		late++
		if busy := s.Generator.HostPercent; busy != nil {
			hostKnown = true
			if *busy >= facts.Full {
				full++
			}
		}
		if steal := s.Generator.StealPercent; steal != nil && *steal >= runfile.StealMuch {
			taken++
		}
		if outOfCPU(s, e.Cores) {
			own++
		}
	}
	most := func(n int) bool { return late > 0 && 2*n >= late }
	switch steal := stolen(e.Run); {
	case most(taken) && steal != "":
		return steal, lower + ", or use a machine that is not shared"
	case most(full):
		return fmt.Sprintf("the host was saturated in %d of the %d seconds in which it was", full, late),
			lower + ", or give the generator a host of its own"
	case most(own):
		return fmt.Sprintf("the generator was out of CPU in %d of the %d seconds in which it was", own, late),
			lower + " or give it more cores"
	case 100*e.Unattended >= int64(max(1, e.Run.Account.Requests.Scheduled)): // one percent of the requests affects a p99
		if e.SendersBy == "" {
			return words.Count(int(e.Unattended)) + " requests were taken after they were due", lower
		}
		why = fmt.Sprintf("%s requests were due while all %s waited for answers%s",
			words.Count(int(e.Unattended)), words.Plural(e.Senders, "sender"), after(facts.Cause(e.Run)))
		more := e.moreSenders()
		if more > runfile.SendersMost {
			return why, lower
		}
		return why, fmt.Sprintf("Give it %s senders (%s), or lower the rate", words.Count(more), e.SendersBy)
	}
	if cause := facts.Cause(e.Run); cause != "" { // senders that have ended are late
		return cause, lower
	}
	if !hostKnown {
		return "no cause is known", lower
	}
	return "neither its host, its cores nor its senders were used up: something paused it for a short time", lower
}

// moreSenders is how many senders the load needs: as many as requests are under way at once when each takes as long
// as the slowest hundredth, in powers of two.
func (e Evidence) moreSenders() int {
	most := 0.0
	for _, s := range e.Run.Steps {
		if s.DurationS > 0 {
			most = max(most, float64(s.Requests)/s.DurationS)
		}
	}
	needed := max(2*float64(e.Senders), most*value(e.Run.Latency.HTTP.P99)/1000, 2)
	return int(math.Exp2(math.Ceil(math.Log2(needed))))
}

// lowerRate is the advice to lower the rate, with the highest one that was sent in a second without lateness above
// limit (ms), where that is lower than the planned one.
func (e Evidence) lowerRate(limit float64) string {
	carried, planned := 0, 0
	for _, s := range e.Run.Timeline {
		planned = max(planned, s.Requests)
		if s.LateMaxMS != nil && *s.LateMaxMS <= limit {
			carried = max(carried, s.Requests)
		}
	}
	if carried == 0 || 20*carried >= 19*planned {
		return "Lower the rate"
	}
	digits := math.Pow10(max(0, int(math.Log10(float64(carried)))-1))
	return fmt.Sprintf("Lower the rate: RATE=%.0f is what this host can carry",
		math.Floor(float64(carried)/digits)*digits)
}

package facts

import (
	"fmt"
	"math"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// Limits of the rules of thumb for vmstat.
const (
	idleFew       = 5.0    // %, near 0
	switchesMany  = 10_000 // a second
	interruptMany = 20_000 // a second
	runMuch       = 0.2    // share of the run in which a rule of vmstat has to hold
)

// host has the figures that the host reported; nil: none.
func host(r *runfile.Run) *runfile.Figures {
	for _, resource := range r.Resources {
		if resource.Process == "host" {
			return resource.Figures
		}
	}
	return nil
}

// Steal is the share of the generator's host that its hypervisor gave to others, in % of its CPU: the mean over the run
// and the worst second. known is false where the system does not report it.
func Steal(r *runfile.Run) (mean, worst float64, known bool) {
	return stealOf(secondsIn(r.Timeline, runfile.Span{ToS: math.Inf(1)}))
}

// stealOf is Steal of some seconds.
func stealOf(seconds []*runfile.Interval) (mean, worst float64, known bool) {
	n := 0
	for _, s := range seconds {
		if steal := s.Generator.StealPercent; steal != nil {
			mean, worst, n = mean+*steal, max(worst, *steal), n+1
		}
	}
	return mean / float64(max(1, n)), worst, n > 0
}

// fullHost is about a host whose cores were all at work, or taken by its hypervisor, which the CPU of each process does
// not show.
func fullHost(host *runfile.Figures) *runfile.Finding {
	from, to := fullSpan(host)
	if from < 0 {
		return nil
	}
	return &runfile.Finding{
		Text: fmt.Sprintf("The host was saturated from %s to %s: its cores were busy for %d %% of the time "+
			"or more, steal included.",
			moment(from), moment(to), Full),
		Next: "put the generator on another host, or lower the rate: all processes waited for a core",
		Span: span(from, to),
	}
}

// fullSpan is the longest span in which a host had no core left; from < 0: it always had some.
func fullSpan(host *runfile.Figures) (from, to int) {
	return longestStretch(len(host.T), host.BinS, func(i int) (int, bool) {
		return host.T[i], 100-at(host.Gauges["id"], i, 100)-at(host.Gauges["wa"], i, 0) >= Full
	})
}

// vmstat applies the rules of thumb for vmstat to the seconds of the run. A saturated host has a finding of its own.
func vmstat(r *runfile.Run, host *runfile.Figures, saturated bool) (found []runfile.Finding) {
	part := func(rule func(idle, switches, interrupts float64) bool) float64 {
		rows := 0
		for i, idle := range host.Gauges["id"] {
			if idle != nil && rule(*idle, at(host.Gauges["cs"], i, 0), at(host.Gauges["in"], i, 0)) {
				rows++
			}
		}
		return float64(rows) / float64(max(1, len(host.Gauges["id"])))
	}
	tell := func(next, format string, args ...any) {
		found = append(found, runfile.Finding{Text: fmt.Sprintf(format, args...), Next: next})
	}
	if mean, worst, known := hypervisor(r, host); known && mean >= runfile.StealMuch {
		tell("run again on a machine that is not shared",
			"The hypervisor took %s of the host's CPU, and %s in the worst second: "+
				"the latencies contain its pauses.",
			words.Percent(mean/100), words.Percent(worst/100))
	}
	spent := part(func(idle, switches, _ float64) bool { return idle < idleFew && switches > switchesMany })
	if spent >= runMuch && !saturated {
		tell("lower the rate, or give the host more cores",
			"In %s of the run the host was less than %v %% idle with more than %s context switches a second: "+
				"its cores are saturated.",
			words.Percent(spent), idleFew, words.Count(switchesMany))
	}
	bound := part(func(idle, _, interrupts float64) bool {
		return idle >= 40 && idle <= 50 && interrupts > interruptMany
	})
	if bound >= runMuch {
		tell("see /proc/interrupts: is one core busy with the interface alone?",
			"In %s of the run the host was 40 to 50 %% idle with more than %s interrupts a second: "+
				"look at the network interface, not at the cores.",
			words.Percent(bound), words.Count(interruptMany))
	}
	if swapped(host) {
		tell("see in Resources which process grew",
			"The host swapped: it needs more memory, and the latencies contain disk accesses.")
	}
	return found
}

// sharesHost reports whether generator and pipeline share a host.
func sharesHost(r *runfile.Run) bool {
	shared, _ := r.Environment["shared_host"].(bool)
	return shared
}

package facts

import (
	"fmt"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

const (
	stealMuchAtOnce = 10   // % of the CPU in one second: a tenth of a second decides the p99 of a run of ten
	othersMuch      = 5    // % of the host's CPU that processes outside the run may use
	underWay        = 0.02 // share of the due messages that may be in flight at the end
)

// disturbed says what others took of the CPU in the measured phases, if a run that did not hold its load might have
// held it without them; empty: nothing much, or their CPU would not have been enough for the messages that are missing.
func disturbed(r *runfile.Run) string {
	mean, worst, _ := stealOf(measuredSeconds(r))
	others := othersPercent(r)
	var all []string
	if mean >= runfile.StealMuch || worst >= stealMuchAtOnce {
		all = append(all, fmt.Sprintf("the hypervisor took %s of the CPU in the measured phases, %s in the worst second",
			words.Percent(mean/100), words.Percent(worst/100)))
	}
	if others >= othersMuch {
		all = append(all, fmt.Sprintf("other processes took %s of the CPU", words.Percent(others/100)))
	}
	due, arrived := 0.0, 0.0 // messages
	for i := range r.Steps {
		if s := &r.Steps[i]; s.Measured {
			due, arrived = due+s.ScheduledPerS*s.DurationS, arrived+s.CarriedPerS*s.DurationS
		}
	}
	overloaded := due > 0 && arrived/due < (1-(mean+others)/100)*(1-underWay)
	if overloaded {
		return ""
	}
	return strings.Join(all, ", ")
}

// othersPercent is the CPU that processes outside the run used of a shared host in its measured phases, in % of its
// CPU; 0: nothing, or it is not known.
func othersPercent(r *runfile.Run) float64 {
	cores := coresOf(r)
	if !sharesHost(r) || cores <= 0 {
		return 0
	}
	used, seconds := 0.0, 0.0
	for i := range r.Steps {
		s := &r.Steps[i]
		host, known := s.CPUPercent["host"]
		if !s.Measured || !known {
			continue
		}
		for process, percent := range s.CPUPercent {
			if process != "host" {
				host -= percent
			}
		}
		used, seconds = used+host*s.DurationS, seconds+s.DurationS
	}
	if seconds == 0 {
		return 0
	}
	return max(0, used/seconds) / cores
}

// coresOf is how many cores the generator may use; 0: unknown.
func coresOf(r *runfile.Run) float64 {
	switch cores := r.Environment["cores"].(type) {
	case int:
		return float64(cores)
	case float64: // read from a file
		return cores
	}
	return 0
}

package facts

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// advised is an advice with values for its settings: how many ingests and relays to start, and the rate that was
// carried. A setting without a value stands as its name.
func advised(r *runfile.Run, text string) string {
	for role, setting := range map[string]string{"ingest": "INGEST_WORKERS", "relay": "RELAY_WORKERS"} {
		n := 0
		for _, resource := range r.Resources {
			if runfile.RoleOf(resource.Process) == role {
				n++
			}
		}
		if n > 0 {
			text = strings.Replace(text, "("+setting+")", fmt.Sprintf("(%s=%d, it was %d)", setting, n+1, n), 1)
		}
	}
	if rate := carriedRequests(r); rate > 0 {
		to := fmt.Sprintf("lower the rate to %s (RATE=%d)", words.Rate(float64(rate), "requests"), rate)
		text = strings.Replace(text, "lower the rate", to, 1)
	}
	return text
}

// carriedRequests is the rate of requests that the busiest phase of an open load carried, rounded down to two digits;
// 0: it is not known, or it is what was offered.
func carriedRequests(r *runfile.Run) int {
	s := cmp.Or(busiest(r), &runfile.Step{})
	if r.Run.Model == runfile.Closed || s.Scheduled == 0 || s.CarriedPerS >= s.ScheduledPerS*(1-asMuch) {
		return 0
	}
	rate := s.CarriedPerS * float64(s.Requests) / float64(s.Scheduled)
	if rate < 1 {
		return 0
	}
	unit := math.Pow(10, math.Max(0, math.Floor(math.Log10(rate))-1))
	return int(math.Floor(rate/unit) * unit)
}

// stageAdvice says what to do about a stage that takes most of the time. A pipeline's own stages have none.
var stageAdvice = map[string]string{
	"schedule": "the generator was behind its schedule: give it more cores or senders, or lower the rate",
	"request": "see the CPU of the ingest, and the network before it; " +
		"more ingests share the requests (INGEST_WORKERS)",
	"ingest": "see the CPU of the ingest and of Redis, which has to confirm each write",
	"queue": "messages wait here for a free relay: see the CPU of the relays and of Redis; " +
		"more relays share the queue (RELAY_WORKERS)",
	"relay":    "the broker confirms slowly, or the relay is busy: see the CPU of both",
	"delivery": "see the CPU of the broker and of the generator, and the network between them",
}

// processAdvice says what to do about a process that has no core left, by its role.
var processAdvice = map[string]string{
	"ingest":    "start more ingests (INGEST_WORKERS), or lower the rate",
	"relay":     "start more relays (RELAY_WORKERS), or lower the rate",
	"redis":     "share the queue among several servers, or lower the rate: one Redis uses one core",
	"mosquitto": "share the topics among several brokers, or lower the rate: one Mosquitto uses one core",
}

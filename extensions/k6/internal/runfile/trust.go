package runfile

import (
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

// The parts of run.json about the instrument: clock, health, canary.

// Clock describes how well the stamps of different processes can be compared. Offset, drift and probes are the
// generator's; nil for several generators.
type Clock struct {
	Reference string   `json:"reference" merge:"first"`
	OffsetMS  *float64 `json:"offset_ms" merge:"own"` // reference minus own clock
	// BoundMS: the sum of the two widest bounds of generator and processes
	BoundMS          float64 `json:"bound_ms" merge:"max"`
	GeneratorBoundMS float64 `json:"generator_bound_ms" merge:"max"` // the bound of OffsetMS
	// OneHost: one host has one clock, so the bound does not matter
	OneHost   bool           `json:"one_host" merge:"and"`
	LimitMS   *float64       `json:"limit_ms" merge:"first"` // the user's limit on BoundMS; nil: none
	DriftPPM  *float64       `json:"drift_ppm" merge:"own"`
	Probes    int            `json:"probes" merge:"sum"`
	Processes []ProcessClock `json:"processes" merge:"own"` // never nil
}

// ProcessClock is the clock of a process of the pipeline, as it reported it.
type ProcessClock struct {
	Process  string  `json:"process"`
	OffsetMS float64 `json:"offset_ms"` // reference minus its clock
	BoundMS  float64 `json:"bound_ms"`
}

// sure: a stage between two processes that is shorter than this many clock bounds is shown with the bound.
const sure = 10

// BoundOf is the clock bound of a stage that is too short for it: the stage is known only to within it. It is nil for
// other stages, and when all processes are on one host.
func (r *Run) BoundOf(stage stages.Stage) *float64 {
	p50 := r.Latency.Stages[stage.Name].P50
	if !stage.CrossesHosts || p50 == nil || r.Clock.OneHost || *p50 >= sure*r.Clock.BoundMS {
		return nil
	}
	return &r.Clock.BoundMS
}

// Health describes whether the instrument kept up.
type Health struct {
	// Lateness: due → sent, of the measured phases; nil: nothing was sent, or the closed model
	Lateness      *Latency      `json:"lateness" merge:"hist"`
	ArrivalStamps ArrivalStamps `json:"arrival_stamps" merge:"fields"`
	// SocketWait: the part of the arrival latency unread in the subscriber's socket; nil: unknown
	SocketWait       *Latency `json:"socket_wait" merge:"hist"`
	Gaps             []Gap    `json:"gaps" merge:"own"` // never nil
	SamplesDiscarded int      `json:"samples_discarded" merge:"sum"`
	TrendOneIn       int      `json:"trend_one_in" merge:"max"` // k6's Trend gets one sample in this many; 1: all
}

// ArrivalStamps counts the measured deliveries whose arrival is the kernel's stamp, and those whose arrival is the
// read.
type ArrivalStamps struct {
	Kernel int64 `json:"kernel" merge:"sum"`
	Read   int64 `json:"read" merge:"sum"`
}

// Gap is a span, in seconds of the run, in which a subscriber had no connection.
type Gap struct {
	Subscriber int      `json:"subscriber"`
	FromS      float64  `json:"from_s"`
	ToS        *float64 `json:"to_s"` // nil: it never came back
	Reason     string   `json:"reason"`
}

// Canary holds the results of the canary: messages at a steady, low rate over separate connections, outside the
// account.
type Canary struct {
	Sent      int     `json:"sent" merge:"sum"`
	Arrived   int     `json:"arrived" merge:"sum"`
	IntervalS float64 `json:"interval_s" merge:"first"`
	Latency   Latency `json:"latency" merge:"hist"` // counted from when a message was due
}

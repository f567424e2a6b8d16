package report

import "github.com/arrival-bench/arrival/extensions/k6/internal/ledger"

// What run.json says of the instrument itself: its clock, whether it kept up, and its canary.

// Clock says how far the stamps of different processes can be compared. Offset, drift and probes are the generator's; of several there is
// no one offset nor drift (nil).
type Clock struct {
	Reference        string         `json:"reference"`
	OffsetMS         *float64       `json:"offset_ms"`          // reference minus own clock
	BoundMS          float64        `json:"bound_ms"`           // the two widest of generator and processes, summed
	GeneratorBoundMS float64        `json:"generator_bound_ms"` // of OffsetMS
	OneHost          bool           `json:"one_host"`           // one host, one clock: the bound is no reason to doubt a stage
	LimitMS          *float64       `json:"limit_ms"`           // that the user set for BoundMS; nil: none
	DriftPPM         *float64       `json:"drift_ppm"`
	Probes           int            `json:"probes"`
	Processes        []ProcessClock `json:"processes"` // never nil
}

// ProcessClock is what a process of the pipeline said of its own clock.
type ProcessClock struct {
	Process  string  `json:"process"`
	OffsetMS float64 `json:"offset_ms"` // reference minus its clock
	BoundMS  float64 `json:"bound_ms"`
}

// sure is how many times the clock bound a stage between two processes is at least, or it is shown with the bound.
const sure = 10

// within is the clock bound beside a stage that is known to within a good part of it only; empty where it is known well, and where
// everything is on one host, which has one clock. The page (reports/page/facts.ts) has the same rule.
func within(r *Run, stage ledger.Stage) string {
	p50 := r.Latency.Stages[stage.String()].P50
	crossing := stage == ledger.Request || stage == ledger.Queue || stage == ledger.Delivery
	if !crossing || p50 == nil || r.Clock.OneHost || *p50 >= sure*r.Clock.BoundMS {
		return ""
	}
	return " ±" + num(&r.Clock.BoundMS)
}

// Health says whether the instrument kept up. Its zero value is no valid document: see NewHealth.
type Health struct {
	Lateness         *Latency      `json:"lateness"` // due → sent, of all that was sent in the measured phases; nil: nothing, or the closed model
	ArrivalStamps    ArrivalStamps `json:"arrival_stamps"`
	SocketWait       *Latency      `json:"socket_wait"` // of the arrival latency: unread in the subscriber's socket; nil: the system does not say
	Gaps             []Gap         `json:"gaps"`        // never nil
	SamplesDiscarded int           `json:"samples_discarded"`
	TrendOneIn       int           `json:"trend_one_in"` // k6's Trend was given one in so many samples; 1: all
}

// ArrivalStamps counts the deliveries of the measured phases that arrived when the kernel had them, and when they were read.
type ArrivalStamps struct {
	Kernel int64 `json:"kernel"`
	Read   int64 `json:"read"`
}

// Gap is a span, in seconds of the run, in which a subscriber had no connection.
type Gap struct {
	Subscriber int      `json:"subscriber"`
	FromS      float64  `json:"from_s"`
	ToS        *float64 `json:"to_s"` // nil: it never came back
	Reason     string   `json:"reason"`
}

// NewHealth is the health of an instrument that nothing is known against.
func NewHealth() Health { return Health{Gaps: []Gap{}, TrendOneIn: 1} }

// Canary is what became of the messages that a connection of its own sent all the way round at a steady, low rate. They
// are no part of the account.
type Canary struct {
	Sent      int     `json:"sent"`
	Arrived   int     `json:"arrived"`
	IntervalS float64 `json:"interval_s"`
	Latency   Latency `json:"latency"` // from when a message was due
}

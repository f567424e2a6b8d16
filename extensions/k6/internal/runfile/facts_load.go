package runfile

// The facts of a run over its load; internal/facts makes them.

// LoadFacts are the facts of a run over its load, and the question that its script asks.
type LoadFacts struct {
	Question *Question `json:"question"` // nil: the rate that the pipeline held
	Drift    *Drift    `json:"drift"`    // nil: the load does not stay at one rate
	Memory   *Memory   `json:"memory"`   // nil: no measured phase
	// Backlog: of the one measured phase; nil: it is shorter than two seconds or of no steady rate, or there are several
	Backlog     *BacklogGrowth `json:"backlog"`
	Connections *Connections   `json:"connections"` // nil: the run has no publishers
	Sessions    *Sessions      `json:"sessions"`    // nil: the script asks for none
	Clients     *Clients       `json:"clients"`     // nil: the script asks for none
}

// Drift is how much arrival p99 grew from the second quarter of the measured time to the last. The first quarter is
// warm-up.
//
// A p99 is that of all deliveries that arrived in the quarter, from their histogram (three significant digits). What
// arrives after the end of the load belongs to the last quarter: it is late, and a pipeline that stalls at the end must
// not look steady.
type Drift struct {
	FromMS    *float64 `json:"from_ms"`    // p99 of the second quarter; nil: fewer than a hundred deliveries
	ToMS      *float64 `json:"to_ms"`      // p99 of the last quarter; nil: fewer than a hundred deliveries
	GrewMS    *float64 `json:"grew_ms"`    // below 0: it fell; nil: one of them is not known
	GrewShare *float64 `json:"grew_share"` // GrewMS as a share of FromMS; nil: GrewMS is not known, or FromMS is 0

	FromSamples int64 `json:"from_samples"` // deliveries
	ToSamples   int64 `json:"to_samples"`   // deliveries
	From        Span  `json:"from"`         // the second quarter
	To          Span  `json:"to"`           // the last quarter
}

// Memory says how much the memory of the processes grew from the second quarter of the measured time to the last.
type Memory struct {
	// MostGrewMB is the most that a process of the pipeline has grown, and 0 if all shrank. Nil: one of them, or all,
	// reported no memory.
	MostGrewMB *float64       `json:"most_grew_mb"`
	Processes  []MemoryGrowth `json:"processes"` // those that grew most first, unknown ones last; never nil
}

// MemoryGrowth is how much the memory of a process grew from the second quarter of the measured time to the last. The
// first quarter is warm-up.
type MemoryGrowth struct {
	Process string `json:"process"`
	// GrewMB is the growth in MB (10^6 bytes); below 0 it shrank. Nil: the process reported no memory in one of the
	// quarters.
	GrewMB *float64 `json:"grew_mb"`
	// Of is what grew: Heap or RSS; empty with a nil GrewMB.
	Of string `json:"of,omitempty"`
	// Pipeline is false for the host, which has other programs too, and for a generator, whose samples grow until they
	// are as many as it keeps.
	Pipeline bool `json:"pipeline"`
}

// What the growth of memory is measured on.
const (
	// Heap is the mean of the live heap (after garbage collections), plus the least memory in buffers outside of it.
	Heap = "heap"
	// RSS is the least resident memory: a process does not need what it gives back.
	RSS = "rss"
)

// BacklogGrowth says how the backlog of a phase grew.
type BacklogGrowth struct {
	Phase   string `json:"phase"`
	Seconds int    `json:"seconds"` // whole seconds of the phase, each with the backlog at its end
	// PerS is the slope of the line through the seconds by least squares, in deliveries/s; below 0 it shrank.
	PerS float64 `json:"deliveries_per_s"`
	// ShareOfRate is PerS as a share of the deliveries that were due in a second; nil: none were due.
	ShareOfRate *float64 `json:"share_of_rate"`
	// InFlight is how many deliveries the phase's rate keeps in flight at the limit on arrival p99; nil: there is no
	// limit.
	InFlight *float64 `json:"in_flight"`
	// Grows reports whether the backlog grew over the phase, and by more than InFlight.
	Grows bool `json:"grows"`
	// CountedShare is ShareOfRate if the backlog Grows, else 0.
	CountedShare float64 `json:"counted_share"`
}

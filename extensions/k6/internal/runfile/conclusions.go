package runfile

import "strings"

// GeneratorCost is what all processes of the generator used; nil: one of them did not report it.
type GeneratorCost struct {
	CPUPerMessageUS *float64 `json:"cpu_us_per_message"` // CPU time of all phases, divided by the scheduled messages
	MemoryMB        *float64 `json:"memory_mb"`          // resident, the most
}

// InDoubt is a claim of a run that its rules on the instrument put in doubt.
type InDoubt struct {
	Claim     string   `json:"claim"`
	Direction string   `json:"direction"` // the direction in which its figures may be wrong
	By        []string `json:"by"`        // the broken rules, in their order
	Text      string   `json:"text"`      // the reason of the first of them
}

// NotArrived is what did not arrive of a run's messages, allowed or not.
type NotArrived struct {
	Messages int     `json:"messages"`
	Share    float64 `json:"share"` // share of the scheduled messages, 0 to 1
	Text     string  `json:"text"`  // the counts by end: 61 % rejected, 3 lost
}

// Bottleneck is what gave way in a run.
type Bottleneck struct {
	Stage string `json:"stage"` // one of the run's stages
	Text  string `json:"text"`  // the stage, and why it is named where that is not its time alone
}

// Shapes of a load.
const (
	SweepShape  = "sweep"  // rising concurrency
	SpikeShape  = "spike"  // one burst
	SteadyShape = "steady" // one rate in at least three phases
	OtherShape  = "other"
)

// Answer is the answer of a run: the sentence to read first, and figures beside a limit.
type Answer struct {
	Sentence    string   `json:"sentence"`     // why, if the run is unusable
	P99LimitMS  *float64 `json:"p99_limit_ms"` // limit on arrival p99; nil: none is set
	WithinLimit *float64 `json:"within_limit"` // share of the measured phases' deliveries; nil: unknown
	// the highest rate with p99 below the limit, messages/s; 0: none; nil: not known, or not usable
	HeldPerS *float64 `json:"held_per_s"`
}

// Finding is something that stands out in a run, as a sentence.
type Finding struct {
	Text  string `json:"text"`
	Next  string `json:"next,omitempty"` // what to do next; empty: nothing
	Worry bool   `json:"worry"`          // something gave way; false: good to know
	Span  *Span  `json:"span"`           // nil: the whole run
}

// Short is a finding without its cause.
func (f Finding) Short() string {
	short := strings.TrimSuffix(f.Text, ".")
	for _, end := range []string{": ", "; "} {
		short, _, _ = strings.Cut(short, end)
	}
	return short
}

// Says reports whether the answer of a run says a finding.
func (r *Run) Says(f Finding) bool {
	return strings.Contains(strings.ToLower(r.Answer.Sentence), strings.ToLower(f.Short()))
}

// Span is a span of a run, in seconds since its start.
type Span struct {
	FromS float64 `json:"from_s"`
	ToS   float64 `json:"to_s"`
}

// Knee is the knee of a sweep of concurrency.
type Knee struct {
	// the last concurrency before p50 takes off for good; 0: below the first, which has a growing backlog
	VUs   int    `json:"vus"`
	Next  int    `json:"next"`  // the one after it
	Stage string `json:"stage"` // the stage whose mean grew most between them (for 0: the longest); empty: unknown
}

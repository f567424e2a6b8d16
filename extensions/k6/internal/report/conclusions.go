package report

// Facts is what follows from the rest of a run, made once (internal/facts) for all that show it.
type Facts struct {
	Shape     string   `json:"shape"`
	DurationS *float64 `json:"duration_s"` // of the run; nil: it has not ended
	Reasons   []string `json:"reasons"`    // of the verdict, those that the answer does not hold already; never nil
	Tiles     []Tile   `json:"tiles"`      // never nil; none without a balanced account
	// Titles: of the charts of a report, by key; a highest value is that of the measured phases and their drain
	Titles map[string]string `json:"titles"`
	// SlowerRequests: why requests take longer than arrivals; empty: they do not
	SlowerRequests string       `json:"slower_requests,omitempty"`
	P99Interval    *P99Interval `json:"arrival_p99_interval"` // nil: unknown
	Recovery       *Recovery    `json:"recovery"`             // nil: the load has no burst
	USL            *USL         `json:"usl"`                  // nil: no sweep, or the fit explains too little
	ByLoad         []LoadPoint  `json:"by_load"`              // by ascending load; nil: the load stayed as it was
	Phases         []PhaseFacts `json:"phases"`               // one for each of steps; never nil
}

// PhaseFacts is what follows from a step.
type PhaseFacts struct {
	RequestsPerS float64 `json:"requests_per_s"`
	// LargestStage: the stage with the largest share of the mean arrival; empty: none is known
	LargestStage string   `json:"largest_stage"`
	LargestShare *float64 `json:"largest_share"`
}

// Shapes of a load.
const (
	SweepShape  = "sweep"  // of concurrency
	SpikeShape  = "spike"  // one burst
	SteadyShape = "steady" // one rate in at least three phases
	OtherShape  = "other"
)

// Answer is the answer of a run: the sentence to read first, and figures beside a limit.
type Answer struct {
	Sentence    string   `json:"sentence"`     // for an unusable run: why
	P99LimitMS  *float64 `json:"p99_limit_ms"` // of the arrival; nil: none is set
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

package report

// Facts is what follows from the rest of a run, made once (internal/facts) for all that show it.
type Facts struct {
	Shape   string   `json:"shape"`
	Reasons []string `json:"reasons"` // of the verdict, those that the answer does not say; never nil

	DurationS *float64 `json:"duration_s"` // of the run; nil: it has not ended
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

	Journey      Journey    `json:"journey"`
	SpanStages   []StageRow `json:"span_stages"`   // of spans, in the order of Spans.Stages; never nil
	SpanHead     string     `json:"span_head"`     // how many deliveries have stages by spans; empty: not requested
	SpanLeft     string     `json:"span_left"`     // which have none, and why; empty: all have them
	LargestStage *Longest   `json:"largest_stage"` // of the mean arrival; nil: no stage is known
	SlowestStage *Longest   `json:"slowest_stage"` // of the slowest delivery; nil: not known
	ArrivedShare *float64   `json:"arrived_share"` // of the scheduled messages; nil: none was scheduled
	Losses       []Loss     `json:"losses"`        // in the order of the message's way; never nil
	Balance      string     `json:"balance"`       // whether the account balances, as a sentence
	Targets      string     `json:"targets"`       // whether a target stands out, as a sentence; empty: none is listed

	Instrument []Check   `json:"instrument"` // never nil
	Host       *HostUse  `json:"host"`       // nil: the host's figures are not known
	Resources  Resources `json:"resources"`
}

// Sources of a Journey.
const (
	ByStamps = "stamps"
	BySpans  = "spans"
	NoSource = "none" // the pipeline gives no stages: what follows the schedule is one
)

// Journey are the stages of a delivery that a reader sees first: those of the pipeline that was measured.
type Journey struct {
	Source     string     `json:"source"`
	MeanMS     *float64   `json:"mean_ms"`      // arrival of the deliveries that the shares are of; nil: none arrived
	SlowMeanMS *float64   `json:"slow_mean_ms"` // arrival of the slowest 1 %; nil: not known
	Samples    int64      `json:"samples"`      // deliveries whose stages are known
	SumMS      *float64   `json:"sum_ms"`       // of the stages' means; nil: none is known
	Covers     *float64   `json:"covers"`       // SumMS as a share of MeanMS: 1 to within rounding
	Stages     []StageRow `json:"stages"`       // never nil
}

// StageRow is a stage with its figures; nil: not known.
type StageRow struct {
	Name       string   `json:"name"`
	From       string   `json:"from"`
	To         string   `json:"to"`
	Says       string   `json:"says"` // what it holds; empty: not known
	Count      int64    `json:"count"`
	MeanMS     *float64 `json:"mean_ms"`
	ErrorMS    *float64 `json:"error_ms"` // of spans: the mean of all deliveries is within it of MeanMS
	P50MS      *float64 `json:"p50_ms"`
	P99MS      *float64 `json:"p99_ms"`
	MaxMS      *float64 `json:"max_ms"`
	Share      *float64 `json:"share"`      // of the mean arrival
	SlowShare  *float64 `json:"slow_share"` // of that of the slowest 1 %
	SlowMeanMS *float64 `json:"slow_mean_ms"`
	BoundMS    *float64 `json:"bound_ms"` // the clocks' bound, of a stage too short for it; nil: it does not matter
}

// Longest is the stage that took most of a time.
type Longest struct {
	Stage string  `json:"stage"`
	MS    float64 `json:"ms"`
	Share float64 `json:"share"` // of the whole time
}

// Loss is how many messages did not arrive in one way, and where they left the way of a message.
type Loss struct {
	End   string  `json:"end"`
	Count int     `json:"count"`
	Share float64 `json:"share"` // of the scheduled messages
	Stage *string `json:"stage"` // of the journey; nil: the place is unknown
}

// Check is a figure of the instrument, beside its limit. Texts may be empty.
type Check struct {
	What    string `json:"what"`
	Meaning string `json:"meaning"`
	Figure  string `json:"figure"`
	More    string `json:"more"`
	Limit   string `json:"limit"` // with its relation; "none": none is allowed; empty: there is no rule
	Basis   string `json:"basis"` // how the limit was computed
	OK      *bool  `json:"ok"`    // nil: no rule, not judged, or undecided
	// Undecided: one reading of the figure holds the limit, another one breaks it
	Undecided bool   `json:"undecided"`
	Rule      string `json:"rule"`   // its name in the verdict
	Doubts    string `json:"doubts"` // what the broken rule puts in doubt
}

// HostUse is what the generator's host had left, or the pipeline's where that is another one; nil: not known.
type HostUse struct {
	IdleMeanPercent  *float64 `json:"idle_mean_percent"`
	IdleLeastPercent *float64 `json:"idle_least_percent"`
	SwitchesMaxPerS  *float64 `json:"switches_max_per_s"`
	Swapped          bool     `json:"swapped"`
	StealMeanPercent *float64 `json:"steal_mean_percent"`
	StealMaxPercent  *float64 `json:"steal_max_percent"`
}

// Resources are the processes that used most, without the host, and the totals of each figure.
type Resources struct {
	MostCPU    *Used    `json:"most_cpu"`    // % of a core; nil: not known
	MostMemory *Used    `json:"most_memory"` // MB; nil: not known
	Totals     []Totals `json:"totals"`      // never nil
}

// Used is what a process used at most.
type Used struct {
	Process string  `json:"process"`
	Max     float64 `json:"max"`
}

// Totals is a figure of a process over the whole run.
type Totals struct {
	Process string   `json:"process"`
	Name    string   `json:"name"`
	Sum     *float64 `json:"sum"`  // of a count; nil: it is a gauge
	Mean    *float64 `json:"mean"` // of a gauge; nil: it is a count, or has no value
	Max     *float64 `json:"max"`  // of a bin; nil: it has no value
}

// Tile is one of the figures that matter most, beside what it is to be held against.
type Tile struct {
	Name      string   `json:"name"`
	Value     *float64 `json:"value"` // in Unit; nil: not known
	Unit      string   `json:"unit"`  // empty: none
	Text      string   `json:"text"`  // Value as reports print it, without its unit: "at most 29.0"
	Note      string   `json:"note"`
	Estimator string   `json:"estimator"`
	Samples   *int64   `json:"samples"` // behind Value; nil: it is no estimate
	Doubt     string   `json:"doubt"`   // AtMost, AtLeast, About; empty: none
	Worry     bool     `json:"worry"`   // a limit on it did not hold, or messages did not arrive
}

// Doubts of a tile.
const (
	AtMost  = "at_most"  // the pipeline's own figure may be lower
	AtLeast = "at_least" // the pipeline's own figure may be higher
	About   = "about"
)

// P99Interval is the confidence interval of arrival p99: what p99 another run of the same process would have.
type P99Interval struct {
	LowMS    float64 `json:"low_ms"`
	HighMS   float64 `json:"high_ms"`
	Level    float64 `json:"level"`     // of confidence, 0 to 1
	Samples  int64   `json:"samples"`   // deliveries
	Seconds  int     `json:"seconds"`   // measured seconds
	Blocks   int     `json:"blocks"`    // of consecutive seconds
	BlockS   int     `json:"block_s"`   // seconds of a block; the last one may be longer
	Inflated float64 `json:"inflation"` // the factor that the variance of blocks was multiplied by
}

// Recovery says how a pipeline recovered from a burst. Times are from the end of the burst unless noted.
type Recovery struct {
	Phase string `json:"phase"` // of the burst
	// PeakBacklog is the highest backlog from the start of the burst on, in deliveries, at the end of a second.
	PeakBacklog int `json:"peak_backlog"`
	// PeakS is the second of the run at whose end the backlog was highest.
	PeakS float64 `json:"peak_s"`
	// CalmBacklog is the highest backlog of the phase before the burst, in deliveries; nil: it has no whole second.
	CalmBacklog *int `json:"calm_backlog"`
	// DrainedS is the time until the backlog stayed at or below CalmBacklog. The backlog is known at the end of each
	// second, so the value is up to a second too long. Nil: it did not stay there in this run, or CalmBacklog is nil.
	DrainedS *float64 `json:"drained_s"`
	// CalmP99MS is the worst second's arrival p99 in the phase before the burst, without its first second, in which
	// connections are made. A second counts by the deliveries that arrived in it, if there are a hundred or more. Nil:
	// no second has as many.
	CalmP99MS *float64 `json:"calm_p99_ms"`
	// BackFactor is how many times CalmP99MS is back to normal.
	BackFactor float64 `json:"back_factor"`
	// BackS is the time until every later second of a phase was back to normal. Nil: none was, or CalmP99MS is nil.
	BackS *float64 `json:"back_s"`
	// Arrived99S is the time from the start of the burst until 99 % of its deliveries had arrived; nil: they have not.
	Arrived99S *float64 `json:"arrived_99_s"`
}

// USL is the fit of the Universal Scalability Law (N. Gunther): throughput as a function of concurrency,
// X(N) = λN / (1 + σ(N − 1) + κN(N − 1)).
type USL struct {
	LambdaPerS float64 `json:"lambda_per_s"` // messages/s of one VU alone
	Sigma      float64 `json:"sigma"`        // contention: the serial part of the work
	Kappa      float64 `json:"kappa"`        // coherency: the cost of each pair
	// PeakVUs is the concurrency of the highest throughput; nil: there is no maximum, or it is too far beyond the steps.
	PeakVUs *float64 `json:"peak_vus"`
	// R2 is the share of the variance that the fit explains.
	R2    float64 `json:"r2"`
	Steps int     `json:"steps"` // that are fitted
	// Points are concurrency (VUs) and fitted throughput (messages/s), at the steps and between them.
	Points [][2]float64 `json:"points"`
}

// LoadPoint is the arrival latency of what was due in a second, by its load, from bins.
type LoadPoint struct {
	PerS  int      `json:"per_s"` // messages that were due in it
	P50MS *float64 `json:"p50_ms"`
	P99MS *float64 `json:"p99_ms"` // nil: fewer than a hundred deliveries
}

// PhaseFacts is what follows from a step.
type PhaseFacts struct {
	RequestsPerS float64 `json:"requests_per_s"`
	// LargestStage: the stage with the largest share of the mean arrival; empty: none is known
	LargestStage string   `json:"largest_stage"`
	LargestShare *float64 `json:"largest_share"`
}

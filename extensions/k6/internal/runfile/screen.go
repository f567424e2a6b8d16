package runfile

// FirstScreen is what reports show first, and what their charts say.
type FirstScreen struct {
	DurationS *float64 `json:"duration_s"` // length of the run; nil: it has not ended
	Tiles     []Tile   `json:"tiles"`      // never nil; none without a balanced account
	// Titles: of the charts of a report, by key; a highest value is that of the measured phases and their drain
	Titles map[string]string `json:"titles"`
	// Warnings: how many findings say that something gave way, and the first of them in a few words; empty: none does
	Warnings string `json:"warnings,omitempty"`
	// SlowerRequests: why requests take longer than arrivals; empty: they do not
	SlowerRequests string       `json:"slower_requests,omitempty"`
	P99Interval    *P99Interval `json:"arrival_p99_interval"` // nil: unknown
	// P99Over: nil: seconds have a p99 of their own, or several have too few deliveries for one as well
	P99Over  *P99Over     `json:"arrival_p99_over,omitempty"`
	Recovery *Recovery    `json:"recovery"` // nil: the load has no burst
	USL      *USL         `json:"usl"`      // nil: no sweep, or the fit explains too little
	ByLoad   []LoadPoint  `json:"by_load"`  // in the order of load; nil: the load did not change
	Phases   []PhaseFacts `json:"phases"`   // one for each of steps; never nil
}

// PhaseFacts is what follows from a step.
type PhaseFacts struct {
	RequestsPerS float64 `json:"requests_per_s"`
	// LargestStage: the stage with the largest share of the mean arrival; empty: none is known
	LargestStage string   `json:"largest_stage"`
	LargestShare *float64 `json:"largest_share"`
}

// Tile is one of the figures that matter most, beside what it is to be held against.
type Tile struct {
	Name      string   `json:"name"`
	Value     *float64 `json:"value"` // in Unit; nil: not known
	Unit      string   `json:"unit"`  // empty: none
	Text      string   `json:"text"`  // Value as reports print it, without its unit: "at most 29.0"
	Note      string   `json:"note"`
	Estimator string   `json:"estimator"`
	Samples   *int64   `json:"samples"` // how many samples Value is an estimate of; nil: it is not an estimate
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
	Level    float64 `json:"level"`     // level of confidence, 0 to 1
	Samples  int64   `json:"samples"`   // deliveries
	Seconds  int     `json:"seconds"`   // measured seconds
	Blocks   int     `json:"blocks"`    // number of blocks of consecutive seconds
	BlockS   int     `json:"block_s"`   // seconds of a block; the last one may be longer
	Inflated float64 `json:"inflation"` // the factor that the variance of blocks was multiplied by
}

// P99Over is arrival p99 over windows of several seconds, where a second has too few deliveries for its own.
type P99Over struct {
	WindowS int        `json:"window_s"`
	MS      []*float64 `json:"ms"` // one for each of timeline, that of its window, from bins; nil: too few deliveries
}

// Recovery says how a pipeline recovered from a burst. Times are from the end of the burst unless noted.
type Recovery struct {
	Phase string `json:"phase"` // the burst's phase
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
	// connections are made. A second counts by the deliveries that arrived in it, if there are a hundred or more. If no
	// second has as many, it is the largest latency. Nil: nothing arrived in these seconds.
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

// LoadPoint is the load of a second and the arrival latency of the messages due in it, from bins.
type LoadPoint struct {
	PerS  int      `json:"per_s"` // messages that were due in it
	P50MS *float64 `json:"p50_ms"`
	P99MS *float64 `json:"p99_ms"` // nil: fewer than a hundred deliveries
}

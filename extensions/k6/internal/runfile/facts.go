package runfile

// Facts is what follows from the rest of a run, made once (internal/facts) for all that show it.
type Facts struct {
	Shape   string   `json:"shape"`
	Reasons []string `json:"reasons"` // the verdict's reasons that the answer does not say; never nil
	LoadFacts

	// Disturbed: what others took of the CPU, if the run might have held its load without them; nil: nothing much
	Disturbed *string `json:"disturbed"`
	// Bottleneck: of a run that was too slow or refused messages; nil: it was not, or it is not known
	Bottleneck *Bottleneck   `json:"bottleneck"`
	NotArrived *NotArrived   `json:"not_arrived"` // nil: everything arrived, or may still
	Doubts     []InDoubt     `json:"doubts"`      // never nil
	Generator  GeneratorCost `json:"generator"`

	FirstScreen

	Journey      Journey    `json:"journey"`
	SpanStages   []StageRow `json:"span_stages"`   // stages by spans, in the order of Spans.Stages; never nil
	SpanHead     string     `json:"span_head"`     // how many deliveries have stages by spans; empty: not requested
	SpanLeft     string     `json:"span_left"`     // which have none, and why; empty: all have them
	LargestStage *Longest   `json:"largest_stage"` // the stage with most of the mean arrival; nil: no stage is known
	SlowestStage *Longest   `json:"slowest_stage"` // the stage with most of the slowest delivery; nil: not known
	ArrivedShare *float64   `json:"arrived_share"` // share of the scheduled messages; nil: none was scheduled
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
	Of         string     `json:"of,omitempty"` // the step of a sweep whose deliveries it is about; empty: all of them
	MeanMS     *float64   `json:"mean_ms"`      // arrival of the deliveries that the shares are of; nil: none arrived
	SlowMeanMS *float64   `json:"slow_mean_ms"` // arrival of the slowest 1 %; nil: not known
	Samples    int64      `json:"samples"`      // deliveries whose stages are known
	SumMS      *float64   `json:"sum_ms"`       // sum of the stages' means; nil: none is known
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
	ErrorMS    *float64 `json:"error_ms"` // the mean of all deliveries is within it of MeanMS; stages by spans only
	P50MS      *float64 `json:"p50_ms"`
	P99MS      *float64 `json:"p99_ms"`
	MaxMS      *float64 `json:"max_ms"`
	Share      *float64 `json:"share"`      // share of the mean arrival
	SlowShare  *float64 `json:"slow_share"` // share of the mean arrival of the slowest 1 %
	SlowMeanMS *float64 `json:"slow_mean_ms"`
	BoundMS    *float64 `json:"bound_ms"` // the clocks' bound, of a stage too short for it; nil: it does not matter
}

// Longest is the stage that took most of a time.
type Longest struct {
	Stage string  `json:"stage"`
	MS    float64 `json:"ms"`
	Share float64 `json:"share"` // share of the whole time
}

// Loss is how many messages did not arrive in one way, and where they left the way of a message.
type Loss struct {
	End   string  `json:"end"`
	Count int     `json:"count"`
	Share float64 `json:"share"` // share of the scheduled messages
	Stage *string `json:"stage"` // stage of the journey; nil: the place is unknown
}

// Check is a figure of the instrument, beside its limit. Texts may be empty.
type Check struct {
	What    string `json:"what"`
	Meaning string `json:"meaning"`
	Figure  string `json:"figure"`
	More    string `json:"more"`
	Limit   string `json:"limit"` // has its relation before it; "none": none is allowed; empty: there is no rule
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
	Sum     *float64 `json:"sum"`  // sum of a count; nil: it is a gauge
	Mean    *float64 `json:"mean"` // mean of a gauge; nil: it is a count, or has no value
	Max     *float64 `json:"max"`  // highest bin; nil: it has no value
}

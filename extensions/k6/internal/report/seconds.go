package report

// What run.json says of the run as it went: second by second, and process by process.

// Interval is one second of the run. Counts are messages; Arrived and Backlog count deliveries.
type Interval struct {
	T         int                `json:"t"`
	Phase     *string            `json:"phase"` // null after the last phase: the run drains
	Requests  int                `json:"requests"`
	Scheduled int                `json:"scheduled"`
	Sent      int                `json:"sent"`
	Accepted  int                `json:"accepted"`
	Rejected  int                `json:"rejected"`
	Failed    int                `json:"failed"`
	Arrived   int64              `json:"arrived"`
	Backlog   int                `json:"backlog"`
	Arrival   *Quantiles         `json:"arrival"`
	FromSend  *Quantiles         `json:"from_send"`
	HTTP      *Quantiles         `json:"http"`
	Bins      []int64            `json:"arrival_bins"` // see NewBins
	Stages    map[string]float64 `json:"stages"`       // means
	CanaryMS  *float64           `json:"canary_ms"`    // of the canary message that was due in this second
	Generator Usage              `json:"generator"`
}

// Quantiles of an interval, ms. Those of several that were added without their histograms have no percentiles.
type Quantiles struct {
	Count int64    `json:"count"`
	Mean  float64  `json:"mean"`
	P50   *float64 `json:"p50"`
	P95   *float64 `json:"p95"`
	P99   *float64 `json:"p99"`
	Max   float64  `json:"max"`
}

// Usage of a process; 100 % is one core. Null where the system does not say.
type Usage struct {
	CPUPercent *float64 `json:"cpu_percent"`
	RSSMB      *float64 `json:"rss_mb"`
	// StealPercent of its host's CPU went to other machines: steal of proc_stat(5). Nil: not known.
	StealPercent *float64 `json:"steal_percent,omitempty"`
}

// Resource is what one process used over the run.
type Resource struct {
	Process    string        `json:"process"`
	CPUPercent MeanMax       `json:"cpu_percent"`
	RSSMB      MeanMax       `json:"rss_mb"`
	Series     [][3]*float64 `json:"series"`  // second of the run, cpu_percent, rss_mb
	Figures    *Figures      `json:"figures"` // nil: it said nothing more of itself
}

// MeanMax summarizes a series; nil: it is empty.
type MeanMax struct {
	Mean *float64 `json:"mean"`
	Max  *float64 `json:"max"`
}

// Figures are what a process, a server or the host said of itself, in columns: a row for each bin of time.
type Figures struct {
	BinS   int                   `json:"bin_s"`
	T      []int                 `json:"t"`      // starts of the bins, seconds of the run
	Gauges map[string][]*float64 `json:"gauges"` // means
	Counts map[string][]*float64 `json:"counts"` // how many in the bin
}

package report

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
	CanaryMS  *float64           `json:"canary_ms"`    // latency of the canary message that was due in this second
	Generator Usage              `json:"generator"`
}

// Quantiles is a short distribution, ms. Merged ones have no percentiles, since they have no histograms.
type Quantiles struct {
	Count int64    `json:"count"`
	Mean  float64  `json:"mean"`
	P50   *float64 `json:"p50"`
	P95   *float64 `json:"p95"`
	P99   *float64 `json:"p99"`
	Max   float64  `json:"max"`
}

// Usage is the use of a process; 100 % is one core. Null: unknown.
type Usage struct {
	CPUPercent *float64 `json:"cpu_percent"`
	RSSMB      *float64 `json:"rss_mb"`
	// StealPercent is the share of the host's CPU that went to other machines: steal of proc_stat(5). Nil: unknown.
	StealPercent *float64 `json:"steal_percent,omitempty"`
}

// Resource is the use of one process over the run.
type Resource struct {
	Process    string        `json:"process"`
	CPUPercent MeanMax       `json:"cpu_percent"`
	RSSMB      MeanMax       `json:"rss_mb"`
	Series     [][3]*float64 `json:"series"`  // second of the run, cpu_percent, rss_mb
	Figures    *Figures      `json:"figures"` // nil: none
}

// MeanMax summarizes a series; nil if it is empty.
type MeanMax struct {
	Mean *float64 `json:"mean"`
	Max  *float64 `json:"max"`
}

// Figures are what a process, a server or the host reported, in columns: a row for each bin of time.
type Figures struct {
	BinS   int                   `json:"bin_s"`
	T      []int                 `json:"t"`      // starts of the bins, seconds of the run
	Gauges map[string][]*float64 `json:"gauges"` // means
	Counts map[string][]*float64 `json:"counts"` // increases in the bin
}

package runfile

// Interval is one second of the run. Counts are messages; Arrived and Backlog count deliveries.
type Interval struct {
	T         int     `json:"t" merge:"own"`
	Phase     *string `json:"phase" merge:"first"` // null after the last phase: the run drains
	Requests  int     `json:"requests" merge:"sum"`
	Scheduled int     `json:"scheduled" merge:"sum"`
	Sent      int     `json:"sent" merge:"sum"`
	Accepted  int     `json:"accepted" merge:"sum"`
	Rejected  int     `json:"rejected" merge:"sum"`
	Failed    int     `json:"failed" merge:"sum"`
	Arrived   int64   `json:"arrived" merge:"sum"`
	// ArrivedBytes: of their payloads; 0: none, or not known
	ArrivedBytes int64      `json:"arrived_bytes,omitempty" merge:"sum"`
	Backlog      int        `json:"backlog" merge:"sum"`
	Due          int64      `json:"due" merge:"sum"`       // see Follow
	InFlight     int        `json:"in_flight" merge:"sum"` // see Follow
	Arrival      *Quantiles `json:"arrival" merge:"mean"`
	FromSend     *Quantiles `json:"from_send" merge:"mean"`
	HTTP         *Quantiles `json:"http" merge:"mean"`
	Bins         []int64    `json:"arrival_bins" merge:"own"` // see NewBins
	// DueBins: of deliveries of the measured phases whose messages were due in this second; a line of timeline.ndjson
	// can't know
	DueBins []int64 `json:"due_bins,omitempty" merge:"own"`
	// Offered: messages that were sent in this second, of as many as were due in it; nil: the closed model, or a line of
	// timeline.ndjson
	Offered *int `json:"offered,omitempty" merge:"sum"`
	// Stages: means of the deliveries with stamps; nil: there are none
	Stages map[string]float64 `json:"stages" merge:"own"`
	// Stamped: deliveries with stamps
	Stamped int64 `json:"stamped,omitempty" merge:"sum"`
	// CanaryMS: latency of the canary message that was due in this second
	CanaryMS *float64 `json:"canary_ms" merge:"max"`
	// LateMaxMS: the largest lateness of the requests of all phases that were due in this second. Nil: none was sent, or
	// the closed model. A line of timeline.ndjson knows those that were sent in this second.
	LateMaxMS *float64 `json:"late_max_ms" merge:"max"`
	Generator Usage    `json:"generator" merge:"fields"`
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
	CPUPercent *float64 `json:"cpu_percent" merge:"max"`
	RSSMB      *float64 `json:"rss_mb" merge:"max"`
	// StealPercent is the share of the host's CPU that went to other machines: steal of proc_stat(5). Nil: unknown.
	StealPercent *float64 `json:"steal_percent,omitempty" merge:"max"`
	// HostPercent is the share of the host's CPU that was not idle, of all its cores, steal included. Nil: unknown.
	HostPercent *float64 `json:"host_percent,omitempty" merge:"max"`
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

// Follower fills in what a second owes to the seconds before it. The zero value is at the start of a run.
type Follower struct {
	backlog int // deliveries, at the end of the second before
	waiting int // messages sent and not answered, since the start
}

// Fill sets these members of the next second:
//
//   - Due: deliveries owed for what was accepted in it. They arrived in it, or the backlog grew by them.
//   - InFlight: messages sent and not answered at its end.
func (f *Follower) Fill(s *Interval) {
	s.Due = s.Arrived + int64(s.Backlog-f.backlog)
	f.backlog = s.Backlog
	f.waiting += s.Sent - s.Accepted - s.Rejected - s.Failed
	s.InFlight = max(0, f.waiting)
}

// Follow fills the seconds of one run, from its first.
func Follow(timeline []Interval) {
	var f Follower
	for i := range timeline {
		f.Fill(&timeline[i])
	}
}

// Package report turns what a run has measured into what it leaves behind: run.json (reports/contract/run.schema.json),
// timeline.ndjson, the histogram log, the page and the summary on the terminal.
package report

import "cmp"

// Version is the repository's, which package.json names; a test holds them against each other.
const Version = "0.2.0"

// Schema is the version of run.json that this package writes.
const Schema = "arrival/run/1"

// Run is run.json. Latencies are milliseconds; what is absent is null.
type Run struct {
	Schema      string         `json:"schema"`
	Run         Identity       `json:"run"`
	Verdict     Verdict        `json:"verdict"`
	Answer      Answer         `json:"answer"`
	Account     Account        `json:"account"`
	Clock       Clock          `json:"clock"`
	Health      Health         `json:"health"`
	Latency     Latencies      `json:"latency"`
	Canary      *Canary        `json:"canary"`               // nil: the run had none
	Generators  []Part         `json:"generators,omitempty"` // of a merged run: one of each instance that it should have
	Sampled     *Sampled       `json:"sampled"`              // of the measured phases; nil: not asked for
	Steps       []Step         `json:"steps"`
	Knee        *Knee          `json:"knee"`    // nil: it is no sweep, or the last step has not taken off
	Figures     []Figure       `json:"figures"` // never nil
	Flows       []FlowResult   `json:"flows"`
	Targets     *Targets       `json:"targets"`  // nil: the run has not ended
	Tail        *Tail          `json:"tail"`     // nil: fewer than a hundred deliveries have stages
	Messages    *Messages      `json:"messages"` // nil: the run has not ended
	Timeline    []Interval     `json:"timeline"`
	Resources   []Resource     `json:"resources"`
	Errors      []ErrorClass   `json:"errors"`
	Environment map[string]any `json:"environment"`
}

// Identity says which run this is and how to repeat it.
type Identity struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	Tool     Tool              `json:"tool"`
	Method   string            `json:"method"`
	Protocol string            `json:"protocol,omitempty"` // of the requests, as labels have it; empty, of earlier versions: HTTP
	Model    string            `json:"model"`
	Topology string            `json:"topology"`
	Network  string            `json:"network"`
	Labels   map[string]string `json:"labels"`
	Started  string            `json:"started"`
	Ended    *string           `json:"ended"`
	Command  string            `json:"command"`
	Profile  Profile           `json:"profile"`

	Generator *Generator `json:"generator"` // nil: the run has one
}

// protocol is what stands before the latency of requests.
func (i Identity) protocol() string { return cmp.Or(i.Protocol, "HTTP") }

// Generator is one of several instances that do a run together, each a segment of it (k6's --execution-segment).
type Generator struct {
	Number   int     `json:"number"` // in the ids of its messages, from 1
	Of       int     `json:"of"`
	Segment  string  `json:"segment"`
	Sequence string  `json:"sequence"`
	StartUS  int64   `json:"start_us"` // start of all of them, on the clock of Redis
	LateMS   float64 `json:"late_ms"`  // how long after the start it was there; 0: in time
}

// Missing is the result of an instance that has left nothing.
const Missing = "missing"

// Part is what one of several instances adds to their run. nil: it is missing, or does not say.
type Part struct {
	Number          int      `json:"number"`
	Segment         string   `json:"segment"`
	Result          string   `json:"result"` // as of a run, or Missing
	Reasons         []string `json:"reasons"`
	LateMS          *float64 `json:"late_ms"`
	Scheduled       *int     `json:"scheduled"`
	Arrived         *int     `json:"arrived"`
	ScheduleP99MS   *float64 `json:"schedule_p99_ms"` // of its lateness
	SocketWaitP99MS *float64 `json:"socket_wait_p99_ms"`
	Cores           any      `json:"cores"`
	Kernel          any      `json:"kernel"`
	CPUPercentMax   *float64 `json:"cpu_percent_max"`
	ClockOffsetMS   *float64 `json:"clock_offset_ms"`
	ClockBoundMS    *float64 `json:"clock_bound_ms"`
}

// Models of load. In the open one requests are due at the times of the profile. In the closed one so many VUs each send
// their next request when the last one is answered: a message is due when it is sent.
const (
	Open   = "open"
	Closed = "closed"
)

// Tool is the load generator.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Profile is the load that was asked for.
type Profile struct {
	Name   string  `json:"name"`
	Phases []Phase `json:"phases"`
	Flows  []Flow  `json:"flows"`
}

// Phase of a profile: rates, requests per second, in the open model, VUs in the closed one; the other is nil. 0 is a pause.
type Phase struct {
	Name        string   `json:"name"`
	DurationS   float64  `json:"duration_s"`
	ArrivalRate *float64 `json:"arrival_rate"`
	RampTo      *float64 `json:"ramp_to"` // nil: the rate stays
	VUs         *int     `json:"vus"`
	Measured    bool     `json:"measured"`
	Requests    int      `json:"requests,omitzero"` // ends the phase; 0: its duration does
}

// Flow of a profile.
type Flow struct {
	Name       string `json:"name"`
	Weight     int    `json:"weight"`
	Messages   int    `json:"messages"`
	Deliveries int    `json:"deliveries"`

	PayloadBytes *int `json:"payload_bytes,omitempty"` // nil: they differ
}

// Account counts messages, where it does not say otherwise.
type Account struct {
	Scheduled    int `json:"scheduled"`
	Dropped      int `json:"dropped"`
	Rejected     int `json:"rejected"`
	Unknown      int `json:"unknown"`
	Arrived      int `json:"arrived"`
	DeadLettered int `json:"dead_lettered"`
	Queued       int `json:"queued"`
	Lost         int `json:"lost"`
	Pending      int `json:"pending"`

	Balanced   bool       `json:"balanced"`
	Duplicates int        `json:"duplicates"`
	Reordered  int        `json:"reordered"`
	Negative   int        `json:"negative"`
	Foreign    int        `json:"foreign"`
	Requests   Requests   `json:"requests"`
	Deliveries Deliveries `json:"deliveries"`
}

// Requests are POSTs; one that is repeated counts once as sent.
type Requests struct {
	Scheduled int `json:"scheduled"`
	Sent      int `json:"sent"`
	Retried   int `json:"retried"` // repetitions, with the same id
}

// Deliveries are messages times the subscribers that hold their topic.
type Deliveries struct {
	Due     int `json:"due"`
	Arrived int `json:"arrived"`
	Missing int `json:"missing"`
}

// Latencies are one sample a delivery; HTTP one a request.
type Latencies struct {
	Arrival  Latency            `json:"arrival"`
	FromSend Latency            `json:"from_send"`
	HTTP     Latency            `json:"http"`
	Stages   map[string]Latency `json:"stages"`
}

// Latency is a distribution in milliseconds. Without a sample everything but Count and Curve is null.
type Latency struct {
	Count     int64        `json:"count"`
	Min       *float64     `json:"min"`
	Mean      *float64     `json:"mean"`
	P50       *float64     `json:"p50"`
	P75       *float64     `json:"p75"`
	P90       *float64     `json:"p90"`
	P95       *float64     `json:"p95"`
	P99       *float64     `json:"p99"`
	P999      *float64     `json:"p999"`
	Max       *float64     `json:"max"`
	Curve     [][2]float64 `json:"curve"`
	Histogram *string      `json:"histogram"` // HdrHistogram V2, compressed, base64; µs
}

// Step is a phase as it went. Arrived counts deliveries.
type Step struct {
	Name          string             `json:"name"`
	StartS        float64            `json:"start_s"`
	DurationS     float64            `json:"duration_s"`
	VUs           *int               `json:"vus"` // nil in the open model
	Measured      bool               `json:"measured"`
	Requests      int                `json:"requests"`
	Scheduled     int                `json:"scheduled"`
	Accepted      int                `json:"accepted"`
	Due           int                `json:"due"` // deliveries of what was accepted
	Arrived       int                `json:"arrived"`
	ScheduledPerS float64            `json:"scheduled_per_s"`
	AcceptedPerS  float64            `json:"accepted_per_s"`
	ArrivedPerS   float64            `json:"arrived_per_s"`
	CarriedPerS   float64            `json:"carried_per_s"` // accepted and arrived while it went; without what a backlog kept for later
	Backlog       *int               `json:"backlog"`       // deliveries owed at its end; nil: it has not ended
	Arrived99S    *float64           `json:"arrived_99_s"`  // from its start until 99 % of the deliveries due in it had arrived; nil: they have not, or the closed model
	DrainedS      *float64           `json:"drained_s"`     // from its end until nothing was owed; nil: it was not waited for, or in vain
	CPUPercent    map[string]float64 `json:"cpu_percent"`   // of each process, mean over its seconds; nil: not known
	Latency       Latencies          `json:"latency"`
	Sampled       *Sampled           `json:"sampled"` // nil: not asked for
}

// Figure is what a script says beyond what every run says.
type Figure struct {
	Name  string   `json:"name"`
	Value *float64 `json:"value"` // nil: it did not come about
	Unit  string   `json:"unit"`

	Generator int `json:"generator,omitempty"` // whose it is; 0: the run has one
}

// FlowResult is a flow as it went in the measured phases. Arrived counts deliveries.
type FlowResult struct {
	Name      string  `json:"name"`
	Scheduled int     `json:"scheduled"`
	Arrived   int64   `json:"arrived"`
	Arrival   Latency `json:"arrival"`
}

// ErrorClass counts errors that have the same cause.
type ErrorClass struct {
	Stage   string `json:"stage"`
	Class   string `json:"class"`
	Count   int    `json:"count"`
	Example string `json:"example"`
}

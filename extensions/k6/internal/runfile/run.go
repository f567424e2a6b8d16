// Package runfile has the files of a run: run.json (reports/contract/run.schema.json) with its types and its schema,
// timeline.ndjson, the histogram log, and what is left of a run that was killed. It reads, checks and writes them.
package runfile

import (
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

// Version is the version in package.json; a test compares them.
const Version = "0.2.0"

// Schema is the version of run.json that this package writes.
const Schema = "arrival/run/1"

// Executors is the fact of the environment that names a script's own scenarios whose VUs send, each with its kind.
const Executors = "executors"

// Run is run.json. Latencies are milliseconds; null is unknown.
type Run struct {
	Schema   string      `json:"schema" merge:"first"`
	Run      Identity    `json:"run" merge:"own"`
	Verdict  Verdict     `json:"verdict" merge:"own"`
	Answer   Answer      `json:"answer" merge:"own"`
	Findings []Finding   `json:"findings" merge:"own"` // never nil
	Facts    Facts       `json:"facts" merge:"own"`
	Account  Account     `json:"account" merge:"fields"`
	Stages   stages.List `json:"stages" merge:"first"`
	Clock    Clock       `json:"clock" merge:"fields"`
	Health   Health      `json:"health" merge:"fields"`
	Latency  Latencies   `json:"latency" merge:"fields"`
	// ArrivalBins: arrival latency of the measured phases (see NewBins); nil: there are none
	ArrivalBins []int64 `json:"arrival_bins,omitempty" merge:"own"`
	Canary      *Canary `json:"canary" merge:"fields"` // nil: the run had none
	// Generators: of a merged run: every instance, missing ones included
	Generators []Instance `json:"generators,omitempty" merge:"own"`
	Sampled    *Sampled   `json:"sampled" merge:"own"`         // trace lists of the measured phases; nil: not requested
	Spans      *Spans     `json:"spans,omitempty" merge:"own"` // nil: not requested
	Steps      []Step     `json:"steps" merge:"own"`
	// nil: no sweep, or its last step has not taken off
	Knee        *Knee          `json:"knee" merge:"own"`
	Figures     []Figure       `json:"figures" merge:"own"`          // never nil
	Probes      []Probe        `json:"probes,omitempty" merge:"own"` // runs of a search for the capacity
	Flows       []FlowResult   `json:"flows" merge:"own"`
	Targets     *Targets       `json:"targets" merge:"own"`  // nil: the run has not ended
	Tail        *Tail          `json:"tail" merge:"own"`     // nil: fewer than a hundred deliveries have stages
	Messages    *Messages      `json:"messages" merge:"own"` // nil: the run has not ended
	Timeline    []Interval     `json:"timeline" merge:"own"`
	Resources   []Resource     `json:"resources" merge:"own"`
	Errors      []ErrorClass   `json:"errors" merge:"own"`
	Environment map[string]any `json:"environment" merge:"own"`

	Scene *Scene `json:"-" merge:"own"` // evidence for causes; nil: the run was read from a file, or merged
}

// Identity says which run this is and how to repeat it.
type Identity struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	Tool     Tool              `json:"tool"`
	Method   string            `json:"method"`
	Protocol string            `json:"protocol"` // protocol of the requests: HTTP, MQTT, Redis
	Model    string            `json:"model"`
	Topology string            `json:"topology"`
	Network  string            `json:"network"`
	Labels   map[string]string `json:"labels"`
	Started  string            `json:"started"`
	Ended    *string           `json:"ended"`
	Command  string            `json:"command"`
	Profile  Profile           `json:"profile"`

	Generator *Generator `json:"generator"` // nil: the run has one instance
}

// Generator is one of several instances that share a run by segments (k6's --execution-segment).
type Generator struct {
	Number   int     `json:"number"` // its number in the ids of its messages, from 1
	Of       int     `json:"of"`
	Segment  string  `json:"segment"`
	Sequence string  `json:"sequence"`
	StartUS  int64   `json:"start_us"` // start of all instances, on the clock of Redis
	LateMS   float64 `json:"late_ms"`  // how long after the start it was ready; 0: in time
}

// Missing is the result of an instance without a report.
const Missing = "missing"

// Instance is one instance of a merged run. nil: it is missing, or did not report the value.
type Instance struct {
	Number          int      `json:"number"`
	Segment         string   `json:"segment"`
	Result          string   `json:"result"` // the result of its verdict, or Missing
	Reasons         []string `json:"reasons"`
	LateMS          *float64 `json:"late_ms"`
	Scheduled       *int     `json:"scheduled"`
	Arrived         *int     `json:"arrived"`
	ScheduleP99MS   *float64 `json:"schedule_p99_ms"` // p99 of its lateness
	SocketWaitP99MS *float64 `json:"socket_wait_p99_ms"`
	Cores           any      `json:"cores"`
	Kernel          any      `json:"kernel"`
	CPUPercentMax   *float64 `json:"cpu_percent_max"`
	ClockOffsetMS   *float64 `json:"clock_offset_ms"`
	ClockBoundMS    *float64 `json:"clock_bound_ms"`
}

// Models of load. In the open model requests are due at the times of the profile. In the closed model each VU sends its
// next request after the last answer, and a message is due when it is sent.
const (
	Open   = "open"
	Closed = "closed"
)

// Tool is the load generator.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Profile is the planned load.
type Profile struct {
	Name   string  `json:"name"`
	Phases []Phase `json:"phases"`
	Flows  []Flow  `json:"flows"`
}

// Phase is a planned phase: rates (requests per second) in the open model or VUs in the closed model; the other is nil.
// 0 is a pause.
type Phase struct {
	Name        string   `json:"name"`
	DurationS   float64  `json:"duration_s"`
	ArrivalRate *float64 `json:"arrival_rate"`
	RampTo      *float64 `json:"ramp_to"` // nil: the rate stays
	VUs         *int     `json:"vus"`
	Measured    bool     `json:"measured"`
	Requests    int      `json:"requests,omitzero"` // ends the phase; 0: its duration does
}

// Flow is a flow of the profile.
type Flow struct {
	Name       string `json:"name"`
	Weight     int    `json:"weight"`
	Messages   int    `json:"messages"`
	Deliveries int    `json:"deliveries"`

	PayloadBytes *int `json:"payload_bytes,omitempty"` // nil: random payloads
}

// The account of run.json is the ledger's.
type (
	Account    = ledger.Account
	Requests   = ledger.Requests
	Deliveries = ledger.Deliveries
)

// Latencies have a sample for each delivery; HTTP one for each request.
type Latencies struct {
	Arrival  Latency            `json:"arrival" merge:"hist"`
	FromSend Latency            `json:"from_send" merge:"hist"`
	HTTP     Latency            `json:"http" merge:"hist"`
	Stages   map[string]Latency `json:"stages" merge:"hist"`
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

// Step is the result of a phase. Arrived counts deliveries.
type Step struct {
	Name      string  `json:"name" merge:"first"`
	StartS    float64 `json:"start_s" merge:"min"`
	DurationS float64 `json:"duration_s" merge:"own"`
	VUs       *int    `json:"vus" merge:"sum"` // nil in the open model
	Measured  bool    `json:"measured" merge:"first"`
	Requests  int     `json:"requests" merge:"sum"`
	Scheduled int     `json:"scheduled" merge:"sum"`
	Accepted  int     `json:"accepted" merge:"sum"`
	// Taken: messages that were accepted, or arrived all the same
	Taken         int     `json:"taken" merge:"sum"`
	Due           int     `json:"due" merge:"sum"` // deliveries of taken messages
	Arrived       int     `json:"arrived" merge:"sum"`
	ScheduledPerS float64 `json:"scheduled_per_s" merge:"own"`
	// OfferedPerS: messages that were sent in the second they were due in; nil: unknown, or the closed model
	OfferedPerS  *float64 `json:"offered_per_s" merge:"own"`
	AcceptedPerS float64  `json:"accepted_per_s" merge:"own"`
	ArrivedPerS  float64  `json:"arrived_per_s" merge:"own"`
	CarriedPerS  float64  `json:"carried_per_s" merge:"own"` // taken and arrived during the phase
	// Backlog: deliveries owed at its end; nil: it has not ended
	Backlog *int `json:"backlog" merge:"sum"`
	// Arrived99S: from its start until 99 % of its deliveries had arrived; nil: they have not, or the closed model
	Arrived99S *float64 `json:"arrived_99_s" merge:"last"`
	// DrainedS: from its end until nothing was owed; nil: the run did not wait, or the wait ended first
	DrainedS   *float64           `json:"drained_s" merge:"last"`
	CPUPercent map[string]float64 `json:"cpu_percent" merge:"own"` // mean by process; nil: unknown
	Latency    Latencies          `json:"latency" merge:"fields"`
	Sampled    *Sampled           `json:"sampled" merge:"own"` // nil: not requested
}

// Figure is a figure of the script.
type Figure struct {
	Name  string   `json:"name"`
	Value *float64 `json:"value"` // nil: not measured
	Unit  string   `json:"unit"`

	Generator int `json:"generator,omitempty"` // the number of the instance, in a merged run
}

// Probe is one run of a search for the capacity, which this run is the answer of.
type Probe struct {
	Rate    float64  `json:"rate"`    // requests/s
	Seconds float64  `json:"seconds"` // length of its load
	Held    bool     `json:"held"`
	P99     *float64 `json:"p99_ms"` // p99 of arrival; nil: nothing arrived
	// Undecided: whether it held is not known
	Undecided bool `json:"undecided,omitempty"`
}

// FlowResult is the result of a flow in the measured phases. Arrived counts deliveries.
type FlowResult struct {
	Name      string  `json:"name" merge:"first"`
	Scheduled int     `json:"scheduled" merge:"sum"`
	Arrived   int64   `json:"arrived" merge:"sum"`
	Arrival   Latency `json:"arrival" merge:"hist"`
	// Stages: means of the deliveries with all stamps, ms; nil: there are none
	Stages  map[string]float64 `json:"stages,omitempty" merge:"own"`
	Stamped int64              `json:"stamped,omitempty" merge:"sum"`
}

// ErrorClass counts errors that have the same cause.
type ErrorClass struct {
	Stage   string `json:"stage"`
	Class   string `json:"class"`
	Count   int    `json:"count"`
	Example string `json:"example"`
}

package runfile

// The facts of a run about connections, sessions and clients; internal/facts makes them.

// Connections says how many connections were held, and what each cost.
type Connections struct {
	Wanted  int `json:"wanted"`  // how many the instances of this report were to open
	Held    int `json:"held"`    // the most that were open at once
	Lost    int `json:"lost"`    // lost after they were open
	Missing int `json:"missing"` // not held, or lost
	All     int `json:"all"`     // that all instances want, spread over Brokers
	Brokers int `json:"brokers"`
	// CanaryMissing is how many messages of the canary did not arrive; nil: the run has none.
	CanaryMissing *int `json:"canary_missing"`
	// During is the span in which all are to be open.
	During Span             `json:"during"`
	Costs  []ConnectionCost `json:"costs"` // costs of generators and brokers; never nil
}

// ConnectionCost is what a process used for each connection that it held.
type ConnectionCost struct {
	Process     string  `json:"process"`
	Connections float64 `json:"connections"` // connections of this process; with several brokers, its share
	// MemoryKB is how much resident memory grew from the first second to the first one with all connections, for each
	// of them, in KB (1,000 bytes); nil: not known.
	MemoryKB *float64 `json:"memory_kb"`
	// CPUUSPerS is the mean CPU while the connections were held, for each of them, in µs of CPU in a second; nil: not
	// known.
	CPUUSPerS *float64 `json:"cpu_us_per_s"`
}

// Sessions says how many sessions began, each a connection with several calls. A session is an iteration of k6.
type Sessions struct {
	Begun     int `json:"begun"`     // completed or interrupted ones
	Completed int `json:"completed"` // while the run collected
	Missing   int `json:"missing"`   // were due, and did not begin
	// PerS are the completed ones, a second of the time in which sessions began.
	PerS         float64 `json:"per_s"`
	RequestsPerS float64 `json:"requests_per_s"` // requests per second in the same time
}

// Clients says how much clients exchanged as their number grew.
type Clients struct {
	Most  ClientRate   `json:"most"`  // the highest rate
	Steps []ClientRate `json:"steps"` // by ascending number; never empty
}

// ClientRate is what a number of clients exchanged: messages that went there and back, or arrived, in a second.
type ClientRate struct {
	Clients int     `json:"clients"`
	PerS    float64 `json:"messages_per_s"`
	EachS   float64 `json:"each_messages_per_s"`
}

// Connections is computed from these figures of a run with publishers.
const (
	FigureWanted = "connections wanted"
	FigureHeld   = "connections held"
	FigureLost   = "connections lost"
)

package runfile

// Question is what a script asks of a run besides the rate that the pipeline held. It decides the answer.
type Question struct {
	Kind string `json:"kind"`
	// BackFactor is how many times the p99 before a burst is back to normal. 0: not Recovering.
	BackFactor float64 `json:"back_factor,omitzero"`
	// SessionsPerS, Calls and Seconds are the sessions that begin in a second, the calls of each, and for how long they
	// begin. 0: not OfSessions.
	SessionsPerS float64 `json:"sessions_per_s,omitzero"`
	Calls        int     `json:"calls,omitzero"`
	Seconds      float64 `json:"seconds,omitzero"`
}

// Kinds of questions.
const (
	Recovering    = "recovery"    // how long does the pipeline take to recover from a burst?
	Steadiness    = "steadiness"  // does latency or memory grow?
	OfConnections = "connections" // how many are held, and what each costs
	OfSessions    = "sessions"    // each of several calls
	Exchange      = "exchange"    // how much do clients exchange as their number grows
)

// Questions are all kinds.
func Questions() []string {
	return []string{Recovering, Steadiness, OfConnections, OfSessions, Exchange}
}

// Asks reports whether the script of a run asks a kind of question.
func (f LoadFacts) Asks(kind string) bool { return f.Question != nil && f.Question.Kind == kind }

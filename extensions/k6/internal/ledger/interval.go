package ledger

// Interval is one second of the run. Counts are of messages unless noted; times are of messages that arrived (HTTP: requests
// that were answered) in it.
type Interval struct {
	Requests                         int // sent in it, without retries
	Sent, Accepted, Rejected, Failed int
	Backlog                          int // deliveries of accepted messages that have not arrived at its end
	Arrival, FromSend, HTTP          Series
	StageSums                        [Stages]int64 // µs, of deliveries with stamps
	Stamped                          int64
}

func newInterval() *Interval {
	return &Interval{Arrival: NewSeries(), FromSend: NewSeries(), HTTP: NewSeries()}
}

func (i *Interval) reset() {
	i.Arrival.reset()
	i.FromSend.reset()
	i.HTTP.reset()
	*i = Interval{Arrival: i.Arrival, FromSend: i.FromSend, HTTP: i.HTTP}
}

// Cut ends an interval, begins the next, and frees the memory of resolved messages. The returned interval is valid until
// the next Cut.
func (l *Ledger) Cut() *Interval {
	l.spare.reset()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.compact()
	l.interval.Backlog = l.owed
	l.interval, l.spare = l.spare, l.interval
	return l.spare
}

// Times returns a copy of the times of a phase. It locks the ledger only while it copies.
func (l *Ledger) Times(phase int) *Times {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.times[phase].clone()
}

// Lateness returns a copy of the lateness (sent − due) of the measured phases, once for each due delivery. Unlike the stage Schedule it
// includes messages that did not arrive. It is empty in the closed model.
func (l *Ledger) Lateness() *Series {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.lateness.clone()
	return &s
}

// Reading returns a copy of the Reading of the measured phases.
func (l *Ledger) Reading() Reading {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.reading
	r.Waits = r.Waits.clone()
	return r
}

// FlowTimes returns a copy of the arrival latency of one flow in the measured phases.
func (l *Ledger) FlowTimes(flow int) *Series {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.flowTimes[flow].clone()
	return &s
}

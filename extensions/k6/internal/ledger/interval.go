package ledger

// Interval is what happened in one second of the run. Counts are messages where they say nothing else; times are of what
// arrived (HTTP: of what was answered) in the interval.
type Interval struct {
	Requests                         int // sent in it, repetitions apart
	Sent, Accepted, Rejected, Failed int
	Backlog                          int // deliveries that accepted messages still owe at its end
	Arrival, FromSend, HTTP          Series
	StageSums                        [Stages]int64 // µs over the deliveries that carry stamps
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

// Cut ends an interval and begins the next, and gives back the memory of what was resolved in it. What it returns is good
// until the next Cut.
func (l *Ledger) Cut() *Interval {
	l.spare.reset()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.compact()
	l.interval.Backlog = l.owed
	l.interval, l.spare = l.spare, l.interval
	return l.spare
}

// Times returns a copy of the times of one phase. It locks the ledger for as long as copying takes, no longer.
func (l *Ledger) Times(phase int) *Times {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.times[phase].clone()
}

// Lateness returns a copy of how late the measured phases were sent, each message as often as deliveries are due of it. Where all of
// them arrive it is the stage Schedule; unlike that it has what does not arrive. In the closed model nothing is late, and it is empty.
func (l *Ledger) Lateness() *Series {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.lateness.clone()
	return &s
}

// Reading returns a copy of how the measured phases were read.
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

package ledger

import (
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

// Interval is one second of the run. Its times are those of the messages that arrived in it.
type Interval struct {
	Requests                         int // sent, without retries
	Sent, Accepted, Rejected, Failed int // messages
	// deliveries of accepted messages that had not arrived at the end of the interval
	Backlog           int
	Arrival, FromSend Series
	HTTP              Series // requests that were answered in it
	Bytes             int64  // length of the payloads that arrived
	Stages            StageSums
}

// StageSums add up the stages of deliveries with all stamps.
type StageSums struct {
	Stamped int64              // deliveries
	us      [stages.Most]int64 // by stage
}

func (s *StageSums) add(us *[stages.Most]int64) {
	s.Stamped++
	for i := range s.us {
		s.us[i] += us[i]
	}
}

// Means are the mean times of the stages of a run, ms, by name; nil without deliveries.
func (s *StageSums) Means(of stages.List) map[string]float64 {
	if s.Stamped == 0 {
		return nil
	}
	means := make(map[string]float64, len(of))
	for i, stage := range of {
		means[stage.Name] = float64(s.us[i]) / float64(s.Stamped) / 1000
	}
	return means
}

func (i *Interval) reset() {
	i.Arrival.reset()
	i.FromSend.reset()
	i.HTTP.reset()
	*i = Interval{Arrival: i.Arrival, FromSend: i.FromSend, HTTP: i.HTTP}
}

// Cut ends an interval, begins the next, and frees the memory of resolved messages. The returned interval is valid
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

// Times returns a copy of the times of a phase.
func (l *Ledger) Times(phase int) *Times {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.times[phase].clone()
}

// Lateness returns a copy of the lateness (sent − due) of the measured phases, once for each due delivery. Unlike
// the stage Schedule it includes messages that did not arrive. It is empty in the closed model.
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

// FlowTimes returns copies of the arrival latency of one flow in the measured phases, and of its stages.
func (l *Ledger) FlowTimes(flow int) (*Series, StageSums) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.flowTimes[flow].clone()
	return &s, l.flowStages[flow]
}

// almost is when 99 % of the deliveries due in a phase had arrived.
type almost struct {
	deliveries int64 // 99 % of those due; 0 in the closed model
	at         int64 // µs since the run's start; 0: not yet
}

func newAlmost(p *pacer.Pacer, phase int) almost {
	if p.Closed() {
		return almost{}
	}
	from, to := p.PhaseRequests(phase)
	due := p.Deliveries(p.Messages(to)) - p.Deliveries(p.Messages(from))
	return almost{deliveries: int64(due*99+99) / 100}
}

// AlmostAll is when 99 % of the deliveries due in a phase of the open model had arrived, in µs since the run's start.
// ok is false if they have not.
func (l *Ledger) AlmostAll(phase int) (at int64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.almost[phase].at, l.almost[phase].at != 0
}

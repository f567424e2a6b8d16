package ledger

import (
	"math"
	"math/bits"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

// Highest is the longest time of a histogram, in µs: one hour. Longer times count as one hour in percentiles, and in
// full in mean and max.
const Highest = int64(3_600_000_000)

// Series is a set of times in µs; the zero value is an empty one. The histogram (three significant digits) gives
// percentiles; count, sum, min and max are exact, so the means of the stages sum to the mean of the arrival latency.
// Only the histogram counts a negative time as zero.
type Series struct {
	Histogram *hdrhistogram.Histogram // nil: no time yet
	Count     int64
	Sum       int64
	Min, Max  int64 // 0 without a time
	coarse    bool  // two significant digits
}

// NewHistogram returns a histogram as that of a series, of 190 KB.
func NewHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, Highest, 3) }

// Add records one time.
func (s *Series) Add(us int64) {
	s.AddMany(us, 1)
}

// AddMany records one time n times.
func (s *Series) AddMany(us int64, n int) {
	s.extend(us, us)
	s.Count += int64(n)
	s.Sum += us * int64(n)
	_ = s.Histogram.RecordValues(min(max(us, 0), Highest), int64(n)) // within the range: no error
}

// extend makes room for times between two. Most stages and flows of a run have none: the histogram comes with the
// first.
func (s *Series) extend(least, most int64) {
	if s.Count == 0 {
		s.Min, s.Max = least, most
	}
	s.Min, s.Max = min(s.Min, least), max(s.Max, most)
	switch {
	case s.Histogram != nil:
	case s.coarse:
		s.Histogram = hdrhistogram.New(1, Highest, 2)
	default:
		s.Histogram = NewHistogram()
	}
}

// Merge adds all times of another series.
func (s *Series) Merge(o *Series) {
	if o.Count == 0 {
		return
	}
	s.extend(o.Min, o.Max)
	s.Count += o.Count
	s.Sum += o.Sum
	s.Histogram.Merge(o.Histogram)
}

func (s *Series) clone() Series {
	c := *s
	c.Histogram = nil
	if s.Count > 0 {
		c.Histogram = s.Histogram.Clone()
	}
	return c
}

func (s *Series) reset() {
	if s.Count > 0 {
		s.Histogram.Reset()
	}
	*s = Series{Histogram: s.Histogram, coarse: s.coarse}
}

// Times are the latencies of messages: one sample for each delivery, HTTP one for each request.
type Times struct {
	Arrival  Series // arrived − due
	FromSend Series // arrived − sent: what a tool that ignores its lateness reports
	HTTP     Series
	Stages   []Series // one for each stage of the run
}

// NewTimes returns an empty set for so many stages.
func NewTimes(stages int) *Times { return &Times{Stages: make([]Series, stages)} }

// Merge adds all times of o.
func (t *Times) Merge(o *Times) {
	t.Arrival.Merge(&o.Arrival)
	t.FromSend.Merge(&o.FromSend)
	t.HTTP.Merge(&o.HTTP)
	for i := range t.Stages {
		t.Stages[i].Merge(&o.Stages[i])
	}
}

func (t *Times) clone() *Times {
	c := &Times{
		Arrival: t.Arrival.clone(), FromSend: t.FromSend.clone(), HTTP: t.HTTP.clone(),
		Stages: make([]Series, len(t.Stages)),
	}
	for i := range t.Stages {
		c.Stages[i] = t.Stages[i].clone()
	}
	return c
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
	deliveries int64 // 99 % of those due; 0: not known beforehand
	at         int64 // µs since the run's start; 0: not yet
}

func newAlmost(p *pacer.Pacer, phase int) almost {
	if !p.Planned() {
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

// Tail describes the slowest deliveries of the measured phases. Stages are means in µs that sum to Arrival.
type Tail struct {
	Count   int64 // the slowest deliveries
	Of      int64 // all deliveries whose stages are known
	Arrival float64
	Stages  [stages.Most]float64
}

// tail sums the stages of deliveries by latency, in buckets at most 1/64 wide. So it can describe the slowest
// deliveries at the end without keeping each.
type tail struct {
	of      int64
	buckets []tailBucket
}

type tailBucket struct {
	count  int64
	stages [stages.Most]int64
}

// tailBits is how many binary digits of a latency choose its bucket.
const tailBits = 7

func bucketOf(us int64) int {
	us = min(max(us, 0), Highest)
	shift := max(0, bits.Len64(uint64(us))-tailBits)
	return shift<<(tailBits-1) + int(us>>shift)
}

func (t *tail) add(arrival int64, by *[stages.Most]int64) {
	t.of++
	b := &t.buckets[bucketOf(arrival)]
	b.count++
	for i, us := range by {
		b.stages[i] += us
	}
}

// slowest describes the slowest share of the deliveries, rounded up to whole buckets.
func (t *tail) slowest(share float64) Tail {
	least := int64(math.Ceil(float64(t.of) * share))
	d := Tail{Of: t.of}
	var sums [stages.Most]int64
	for i := len(t.buckets) - 1; i >= 0 && d.Count < least; i-- {
		d.Count += t.buckets[i].count
		for stage, us := range t.buckets[i].stages {
			sums[stage] += us
		}
	}
	for stage, us := range sums {
		d.Stages[stage] = float64(us) / float64(max(1, d.Count))
		d.Arrival += d.Stages[stage]
	}
	return d
}

// Tail describes the slowest share of the deliveries of the measured phases whose stages are known.
func (l *Ledger) Tail(share float64) Tail {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tail.slowest(share)
}

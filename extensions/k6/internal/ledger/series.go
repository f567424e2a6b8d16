package ledger

import (
	"github.com/HdrHistogram/hdrhistogram-go"
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

// extend makes room for times between two. Most stages and flows of a run have none: the histogram comes with the first.
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

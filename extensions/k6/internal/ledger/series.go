package ledger

import (
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Highest is the longest time of a histogram, in µs: one hour. Longer times count as one hour in percentiles, and in
// full in mean and max.
const Highest = int64(3_600_000_000)

// Series is a set of times in µs. The histogram (three significant digits) gives percentiles; count, sum, min and max
// are exact, so the means of the stages sum to the mean of the arrival latency. Only the histogram counts a negative
// time as zero.
type Series struct {
	Histogram *hdrhistogram.Histogram
	Count     int64
	Sum       int64
	Min, Max  int64
}

// NewSeries returns an empty series.
func NewSeries() Series {
	return Series{Histogram: hdrhistogram.New(1, Highest, 3), Min: math.MaxInt64, Max: math.MinInt64}
}

// Add records one time.
func (s *Series) Add(us int64) {
	s.Count++
	s.Sum += us
	s.Min, s.Max = min(s.Min, us), max(s.Max, us)
	_ = s.Histogram.RecordValue(min(max(us, 0), Highest)) // within the range: no error
}

// AddMany records one time n times.
func (s *Series) AddMany(us int64, n int) {
	s.Count += int64(n)
	s.Sum += us * int64(n)
	s.Min, s.Max = min(s.Min, us), max(s.Max, us)
	_ = s.Histogram.RecordValues(min(max(us, 0), Highest), int64(n))
}

// Merge adds all times of another series.
func (s *Series) Merge(o *Series) {
	s.Count += o.Count
	s.Sum += o.Sum
	s.Min, s.Max = min(s.Min, o.Min), max(s.Max, o.Max)
	s.Histogram.Merge(o.Histogram)
}

func (s *Series) clone() Series {
	c := *s
	c.Histogram = s.Histogram.Clone()
	return c
}

func (s *Series) reset() {
	h := s.Histogram
	h.Reset()
	*s = Series{Histogram: h, Min: math.MaxInt64, Max: math.MinInt64}
}

// Times are the latencies of messages: one sample for each delivery, HTTP one for each request.
type Times struct {
	Arrival  Series // arrived − due
	FromSend Series // arrived − sent: what a tool that ignores its lateness reports
	HTTP     Series
	Stages   []Series // of the run's stages
}

// NewTimes returns an empty set for so many stages.
func NewTimes(stages int) *Times {
	t := &Times{Arrival: NewSeries(), FromSend: NewSeries(), HTTP: NewSeries(), Stages: make([]Series, stages)}
	for i := range t.Stages {
		t.Stages[i] = NewSeries()
	}
	return t
}

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

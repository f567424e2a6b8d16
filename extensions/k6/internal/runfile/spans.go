package runfile

import (
	"fmt"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// Spans are the stages of sampled messages, by the spans that the pipeline's own traces have of them. Counts are
// deliveries of the measured phases.
type Spans struct {
	OneIn    int           `json:"one_in"`
	Listen   string        `json:"listen"` // host:port of the endpoint; empty: there is none
	Received SpansReceived `json:"received"`
	Sampled  int           `json:"sampled"` // deliveries of sampled messages
	Traced   int           `json:"traced"`  // those of Sampled whose messages have spans
	Count    int64         `json:"count"`   // those of Traced with all marks once and in order: the stages are theirs
	Marks    []SpansMark   `json:"marks"`
	Stages   []SpansStage  `json:"stages"`  // their means sum to Arrival's; empty: no marks
	Arrival  SpansStage    `json:"arrival"` // arrival of the deliveries with stages
	// Difference is Arrival minus that of all deliveries
	Difference struct {
		Mean *float64 `json:"mean"`
		P50  *float64 `json:"p50"`
		P99  *float64 `json:"p99"`
	} `json:"difference"`
	Clocks  []SpansClock   `json:"clocks"`
	Slowest []SpansMessage `json:"slowest"`
}

// SpansReceived counts what came to the endpoint.
type SpansReceived struct {
	Requests  int `json:"requests" merge:"sum"` // that were taken
	Refused   int `json:"refused" merge:"sum"`  // requests: malformed, too large or not of spans
	Spans     int `json:"spans" merge:"sum"`
	Own       int `json:"own" merge:"sum"`    // spans of traces of the run's messages
	Linked    int `json:"linked" merge:"sum"` // spans of traces that link to such
	Others    int `json:"others" merge:"sum"` // spans of other traces: not used
	Malformed int `json:"malformed" merge:"sum"`
	Dropped   int `json:"dropped" merge:"sum"` // spans for which there was no room
}

// SpansMark is a moment that a span gives.
type SpansMark struct {
	Mark    string `json:"mark"`
	Span    string `json:"span"` // which one, in words
	Used    bool   `json:"used"` // it divides stages
	Seen    int    `json:"seen"` // deliveries whose messages have it once
	Missing int    `json:"missing"`
	Twice   int    `json:"twice"`
	// Disordered: before the mark before it, or as the last one after the arrival, by more than the clocks allow
	Disordered int `json:"disordered"`
}

// SpansStage is a stage between two marks, ms.
type SpansStage struct {
	From string   `json:"from"`
	To   string   `json:"to"`
	Mean *float64 `json:"mean"`
	// Error: the mean of all deliveries is within it of Mean, with 95 % confidence
	Error *float64 `json:"error"`
	P50   *float64 `json:"p50"`
	P99   *float64 `json:"p99"`
	Max   *float64 `json:"max"`
	// Bound: how far the clocks of its two ends may be apart
	Bound float64 `json:"bound"`
}

// SpansClock is the clock of a host, against the generator's.
type SpansClock struct {
	Host     string  `json:"host"`
	OffsetMS float64 `json:"offset_ms"` // its clock minus the generator's
	BoundMS  float64 `json:"bound_ms"`
	// Basis: same host, Redis' clock, or the traces: a child does not begin before its parent; disagree: no offset fits
	// all
	Basis string `json:"basis"`
}

// Bases of a SpansClock.
const (
	SameHost = "same host"
	ByRedis  = "redis"
	ByTraces = "traces"
	Disagree = "disagree"
)

// SpansMessage is one of the slowest deliveries with stages.
type SpansMessage struct {
	ID        string      `json:"id"`
	Trace     string      `json:"trace"`
	ArrivalMS float64     `json:"arrival_ms"`
	StagesMS  []float64   `json:"stages_ms"` // in the order of Stages
	Spans     []SpansSpan `json:"spans"`
}

// SpansSpan is a span of a message. Times are ms since the message was due, on the generator's clock.
type SpansSpan struct {
	Service string  `json:"service"`
	Name    string  `json:"name"`
	Kind    string  `json:"kind"`
	Depth   int     `json:"depth"`
	StartMS float64 `json:"start_ms"`
	EndMS   float64 `json:"end_ms"`
}

// NewSpansStage describes the times of a stage.
func NewSpansStage(from, to string, s *ledger.Series) SpansStage {
	l := NewLatency(s, false)
	return SpansStage{From: from, To: to, Mean: l.Mean, P50: l.At(50), P99: l.At(99), Max: l.Max}
}

// Against adds the differences from the latency of all deliveries. nil stays nil.
func (s *Spans) Against(all Latency) *Spans {
	if s == nil {
		return nil
	}
	described := *s
	minus := func(a, b *float64) *float64 {
		if a == nil || b == nil {
			return nil
		}
		return new(*a - *b)
	}
	d := &described.Difference
	d.Mean, d.P50, d.P99 = minus(s.Arrival.Mean, all.Mean), minus(s.Arrival.P50, all.At(50)),
		minus(s.Arrival.P99, all.At(99))
	return &described
}

// Waiting reports whether its spans are joined later.
func (s *Spans) Waiting() bool { return s.Listen == "" && s.Received.Requests == 0 }

// Left says which deliveries have no stages, and why; empty: all have them.
func (s *Spans) Left() string {
	var lines []string
	if n := s.Sampled - s.Traced; n > 0 {
		lines = append(lines, fmt.Sprintf("%s without a span", words.Count(n)))
	}
	for _, m := range s.Marks {
		for _, why := range []struct {
			what string
			n    int
		}{{"without", m.Missing}, {"with more than one", m.Twice}, {"out of order at", m.Disordered}} {
			if m.Used && why.n > 0 {
				lines = append(lines, fmt.Sprintf("%s %s %q", words.Count(why.n), why.what, m.Mark))
			}
		}
	}
	return strings.Join(lines, ", ")
}

// Head says how many deliveries have stages.
func (s *Spans) Head() string {
	if s.Waiting() {
		return fmt.Sprintf("deliveries of sampled messages (one in %s): %s, without spans so far; "+
			"k6 x arrival spans joins files of them",
			words.Count(s.OneIn), words.Count(s.Sampled))
	}
	return fmt.Sprintf("%s of %s deliveries of sampled messages (one in %s) have stages, by %s of the pipeline",
		words.Count(int(s.Count)), words.Count(s.Sampled), words.Count(s.OneIn),
		words.Plural(s.Received.Own+s.Received.Linked, "span"))
}

// BoundMS is the bound of the clocks, of a stage that is too short for it; nil: it does not matter.
func (s SpansStage) BoundMS() *float64 {
	if s.Bound == 0 || s.P50 == nil || *s.P50 >= sure*s.Bound {
		return nil
	}
	return &s.Bound
}

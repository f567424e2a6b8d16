package engine

import (
	"context"
	"math/rand/v2"
	"time"

	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
)

// Caller is the program that sends a run's requests in place of k6's VUs.
type Caller interface {
	// Open is called when everything is prepared. It returns when the schedule begins.
	Open(context.Context, Prepared) (time.Time, error)
	// Ended is closed when the caller sends nothing more.
	Ended() <-chan struct{}
	// Look is called periodically during the run, so that the caller drops overdue requests.
	Look(now time.Time)
	// Second is called at the end of each second of the run, with a sample of its arrival latencies in ms.
	Second(row runfile.Interval, latencies []float64)
}

// Prepared describes a run that is ready to begin.
type Prepared struct {
	Run       string   `json:"run"`
	Name      string   `json:"name"` // the directory's
	Directory string   `json:"directory"`
	Requests  *int     `json:"requests"` // nil: not known beforehand
	Senders   int      `json:"senders"`
	Closed    bool     `json:"closed"`
	Phases    []string `json:"phases"`
	IDs       *IDs     `json:"ids,omitempty"` // where requests are told
}

// IDs say how a caller that tells its requests writes the id of each: the prefix and the request's number, with zeros
// before it up to so many digits.
type IDs struct {
	Prefix string `json:"prefix"`
	Digits int    `json:"digits"`
}

// opening returns the start time: soon for k6, when the caller decides otherwise.
func (x *External) opening(ctx context.Context) (time.Time, error) {
	if x == nil {
		return time.Now().Add(StartDelay), nil
	}
	e := x.engine
	if e.canary != nil {
		if err := e.goRound(ctx, e.canary); err != nil {
			return time.Time{}, err
		}
	}
	p := Prepared{Run: e.parts.ID, Name: e.dir.name(), Directory: e.dir.path(), Senders: e.options.Senders,
		Closed: e.Pacer.Closed()}
	for _, phase := range e.options.profile.Phases {
		p.Phases = append(p.Phases, phase.Name)
	}
	switch {
	case p.Closed:
		p.Senders = e.options.profile.Most()
	case e.Pacer.Told():
		p.IDs = &IDs{e.parts.Bodies.Begin(), e.parts.Bodies.Digits()}
	default:
		p.Requests = new(e.Pacer.Requests())
	}
	return x.caller.Open(ctx, p)
}

// hasEnded reports whether the caller has ended its load. nil: the schedule decides.
func (x *External) hasEnded() bool { return x == nil || schedule.IsClosed(x.caller.Ended()) }

// untilEnd returns a context that ends with the load.
func (x *External) untilEnd(ctx context.Context) context.Context {
	if x == nil {
		return ctx
	}
	ctx, _ = clock.Until(ctx, x.caller.Ended())
	return ctx
}

func (x *External) look(now time.Time) {
	if x != nil {
		x.caller.Look(now)
	}
}

// countSamples takes samples in place of k6's outputs until x.samples is closed. Then it closes the returned
// channel.
func (x *External) countSamples() (counted chan struct{}) {
	counted = make(chan struct{})
	x.samples = make(chan metrics.SampleContainer, pendingMost)
	go func() {
		defer close(counted)
		for container := range x.samples {
			for _, sample := range container.GetSamples() {
				sample.Metric.Sink.Add(sample)
				if sample.Metric == x.metrics.latency {
					x.recent.add(sample.Value)
				}
			}
		}
	}()
	return counted
}

func (x *External) second(row runfile.Interval) {
	if x == nil {
		return
	}
	recent := mark{&x.recent, make(chan []float64, 1)}
	x.samples <- recent
	x.caller.Second(row, <-recent.taken)
}

// mark takes the sample of a second when the samples before it have been counted.
type mark struct {
	of    *reservoir
	taken chan []float64
}

func (m mark) GetSamples() []metrics.Sample {
	m.taken <- m.of.take()
	return nil
}

// reservoirMost is how many latencies of a second a caller gets.
const reservoirMost = 1000

// reservoir keeps a uniform random sample of the values it sees (Vitter's algorithm R).
type reservoir struct {
	seen int
	kept []float64
}

func (r *reservoir) add(v float64) {
	if r.seen++; len(r.kept) < reservoirMost {
		r.kept = append(r.kept, v)
	} else if i := rand.IntN(r.seen); i < reservoirMost {
		r.kept[i] = v
	}
}

func (r *reservoir) take() []float64 {
	kept := r.kept
	r.seen, r.kept = 0, nil
	return append([]float64{}, kept...)
}

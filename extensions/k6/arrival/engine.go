package arrival

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/limits"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/segment"
)

// engine is the run of this process. What changes has an owner each, with a lock of its own.
type engine struct {
	*schedule.Course // schedule, ledger and clock
	generator        // which of the run's instances this is
	notes            // errors, doubts and figures for the report

	options  *options
	bodies   *bodies
	trust    trust
	comeBack time.Duration // how long a subscriber tries to connect again

	open     *schedule.Open   // hands out requests in the open model
	turns    *schedule.Turns  // and in the closed one; nil: it is the open one
	handles  handles          // requests that scripts send themselves, or a caller
	external *External        // who sends in the place of k6; nil: k6 does
	phases   *schedule.Phases // as they went
	pending  pending          // samples for k6
	judging  limits.Judging   // thresholds, and what k6 says of them
	life     life             // how far the run has come
	canary   *canary          // nil: none
}

// generator is one of the instances of a run.
type generator struct {
	id      string            // of the run
	name    string            // of what is this instance's alone
	segment *segment.Segment  // what this instance does of the run; nil: all
	met     *report.Generator // this instance among the others; nil: it is the only one
}

func newEngine(o *options, part *segment.Segment) *engine {
	o.profile.Connections = max(o.MQTT.Connections, o.MQTT.brokers())
	due := part.Share(pacer.New(o.profile))
	id := cmp.Or(o.RunID, newRunID())
	e := &engine{
		options:   o,
		generator: generator{id: id, name: part.Name(id), segment: part},
		Course:    schedule.New(due),
		trust:     trust{ca: o.CA},
		comeBack:  max(comeBackLeast, o.Drain.duration()),
	}
	e.Ledger = ledger.New(e.levelled(), due)
	if o.Queue != nil {
		e.Ledger.EndAt(ledger.Queue)
	}
	if o.Sampled > 0 {
		e.Ledger.Keep(o.Sampled, traceLength)
	}
	deliveries, requests := expected(o.profile, due)
	e.pending.trend, e.pending.http = thin(deliveries), thin(requests)
	e.open = schedule.NewOpen(e.Course)
	if due.Closed() {
		e.turns = schedule.NewTurns(e.Course, len(o.profile.Flows))
	}
	e.phases = schedule.NewPhases(e.Course, o.profile.Phases)
	e.bodies = newBodies(o, fmt.Sprintf("%s.%d.", e.id, part.Number()), e.targetLevel())
	return e
}

// newRunID names a run: 8 characters that no earlier run is likely to have had (40 bits).
func newRunID() string {
	const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	for i := range b {
		b[i] = alphabet[b[i]&31]
	}
	return string(b)
}

// targetLevel stands between a target and its number where several instances have topics of their own; empty: they have not.
func (e *engine) targetLevel() string {
	if e.segment == nil || e.options.MQTT.Filter != "" { // the script's own filter knows no more levels, so all get everything
		return ""
	}
	return fmt.Sprintf("/%d", e.segment.Number())
}

// levelled is the profile with the targets as they are.
func (e *engine) levelled() *profile.Profile {
	p := *e.options.profile
	p.Flows = slices.Clone(p.Flows)
	for i := range p.Flows {
		p.Flows[i].Target += e.targetLevel()
	}
	return &p
}

// life is how far a run has come, and where it is written.
type life struct {
	mu       sync.Mutex
	begun    bool      // collect has begun; there is one
	ended    time.Time // or stopped; zero: it goes on
	finished bool      // collect came to its end
	dir      string    // empty: there is none
}

// begin reports whether the run has not begun yet. It has then.
func (l *life) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := !l.begun
	l.begun = true
	return first
}

func (l *life) end(finished bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended, l.finished = time.Now(), finished
}

// now is when the run ended, zero if it goes on, and whether it came to its end.
func (l *life) now() (ended time.Time, finished bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended, l.finished
}

func (l *life) moveTo(dir string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dir = dir
}

// place is the directory of the run.
func (l *life) place() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dir
}

package arrival

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/limits"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/segment"
	"github.com/arrival-bench/arrival/extensions/k6/internal/store"
)

// comeBackLeast is how long an outage of a broker may last before the load is halted; where what is late is waited for longer than
// that (drain), so is the broker.
const comeBackLeast = 30 * time.Second

// engine is the run of this process. What changes has an owner each, with a lock of its own.
type engine struct {
	run.Parts // what those who send, receive and look up share with it
	notes     // errors, doubts and figures for the report

	options  *options
	segment  *segment.Segment  // what this instance does of the run; nil: all
	met      *report.Generator // this instance among the others; nil: it is the only one
	trust    network.Trust
	comeBack time.Duration // how long a subscriber tries to connect again

	open      *schedule.Open   // hands out requests in the open model
	turns     *schedule.Turns  // and in the closed one; nil: it is the open one
	handles   handles          // requests that scripts send themselves, or a caller
	external  *External        // who sends in the place of k6; nil: k6 does
	strangers atomic.Int64     // requests that were answered 401 before any was accepted
	welcome   atomic.Bool      // one was accepted
	phases    *schedule.Phases // as they went
	pending   pending          // samples for k6
	judging   limits.Judging   // thresholds, and what k6 says of them
	life      life             // how far the run has come

	subscribers *receive.Subscribers // nil: there are none yet
	canary      *receive.Canary      // nil: none
}

func newEngine(o *options, part *segment.Segment) *engine {
	o.profile.Connections = max(o.MQTT.Connections, o.MQTT.Brokers())
	due := part.Share(pacer.New(o.profile))
	e := &engine{
		options:  o,
		segment:  part,
		trust:    network.Trust{CA: o.CA},
		comeBack: max(comeBackLeast, o.Drain.duration()),
		notes:    notes{connects: ledger.NewSeries()},
	}
	id, own := cmp.Or(o.RunID, newRunID()), e.levelled()
	e.Parts = run.Parts{
		ID: id, Name: part.Name(id), Profile: own, Course: schedule.New(due), Count: e.count, Distrust: e.distrust,
		Bodies: body.New(o.messages(), own.Flows, due, fmt.Sprintf("%s.%d.", id, part.Number()), part != nil),
	}
	e.Ledger = ledger.New(own, due)
	if o.Queue != nil {
		e.Ledger.EndAt(ledger.Queue)
	}
	if o.Answers {
		e.Ledger.EndAt(ledger.Request)
	}
	if o.Sampled > 0 {
		e.Ledger.Keep(o.Sampled, store.TraceLength)
	}
	deliveries, requests := expected(o.profile, due)
	e.pending.trend, e.pending.http = thin(deliveries), thin(requests)
	e.open = schedule.NewOpen(e.Course)
	if due.Closed() {
		e.turns = schedule.NewTurns(e.Course, len(o.profile.Flows))
	}
	e.phases = schedule.NewPhases(e.Course, o.profile.Phases)
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
	full     error     // why a file of the run could not be written, which ended it
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

func (l *life) fill(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.full = why
}

// filled is why a file of the run could not be written, which ended it; nil: each could.
func (l *life) filled() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.full
}

// place is the directory of the run.
func (l *life) place() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dir
}

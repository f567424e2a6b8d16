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

// reconnectLeast is the shortest broker outage that the run tolerates before it halts the load. Where drain is
// longer, the run tolerates an outage of that length.
const reconnectLeast = 30 * time.Second

// engine is the run of this process. Each part that changes has an owner with its own lock.
type engine struct {
	run.Parts // shared with sending, receiving and looking up
	notes     // errors, doubts and figures for the report

	options   *options
	segment   *segment.Segment  // this instance's part of the run; nil: all
	met       *report.Generator // this instance among the others; nil: it is the only one
	trust     network.Trust
	reconnect time.Duration // how long a subscriber tries to reconnect

	open         *schedule.Open   // open model: hands out requests
	turns        *schedule.Turns  // closed model; nil: open model
	handles      handles          // requests that scripts or a caller send
	external     *External        // the caller that sends in place of k6; nil: k6 sends
	unauthorized atomic.Int64     // requests answered 401 before any was accepted
	anyAccepted  atomic.Bool      // a request was accepted
	phases       *schedule.Phases // with their actual times
	pending      pending          // samples for k6
	judging      limits.Judging   // thresholds, and k6's results for them
	within       *withins         // limits on how many deliveries arrive in time
	life         life             // how far the run has come

	subscribers *receive.Subscribers // nil: there are none yet
	canary      *receive.Canary      // nil: none
}

func newEngine(o *options, part *segment.Segment) *engine {
	o.profile.Connections = max(o.MQTT.Connections, o.MQTT.Brokers())
	due := part.Share(pacer.New(o.profile))
	e := &engine{
		options:   o,
		segment:   part,
		trust:     network.Trust{CA: o.CA},
		reconnect: max(reconnectLeast, o.Drain.duration()),
		notes:     notes{connects: ledger.NewSeries()},
		within:    &withins{},
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
	e.Ledger.Sample(o.Traces)
	deliveries, requests := expected(o.profile, due)
	e.pending.trend, e.pending.http = thin(deliveries), thin(requests)
	e.open = schedule.NewOpen(e.Course)
	if due.Closed() {
		e.turns = schedule.NewTurns(e.Course, len(o.profile.Flows))
	}
	e.phases = schedule.NewPhases(e.Course, o.profile.Phases)
	return e
}

// newRunID returns a random name for a run: 8 characters, 40 bits.
func newRunID() string {
	const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	for i := range b {
		b[i] = alphabet[b[i]&31]
	}
	return string(b)
}

// targetLevel is the topic level between a target and its number that separates the topics of several
// instances. Empty: the instances share topics.
func (e *engine) targetLevel() string {
	if e.segment == nil || e.options.MQTT.Filter != "" { // the script's own filter has no such level, so every instance gets every message
		return ""
	}
	return fmt.Sprintf("/%d", e.segment.Number())
}

// levelled is the profile whose targets include targetLevel.
func (e *engine) levelled() *profile.Profile {
	p := *e.options.profile
	p.Flows = slices.Clone(p.Flows)
	for i := range p.Flows {
		p.Flows[i].Target += e.targetLevel()
	}
	return &p
}

// life is the progress of a run and the directory of its files.
type life struct {
	mu       sync.Mutex
	begun    bool      // collect has begun; it runs once
	ended    time.Time // or stopped; zero: in progress
	finished bool      // collect completed
	dir      string    // empty: none
	full     error     // the write error of a file that ended the run
}

// begin marks the run as begun, and reports whether it had not begun before.
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

// now returns when the run ended, zero if it is in progress, and whether it completed.
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

// writeError returns the write error that ended the run; nil: there was none.
func (l *life) writeError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.full
}

// directory returns the directory of the run.
func (l *life) directory() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dir
}

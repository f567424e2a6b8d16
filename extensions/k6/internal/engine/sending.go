package engine

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.k6.io/k6/v2/lib"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/segment"
	"github.com/arrival-bench/arrival/extensions/k6/internal/send"
	"github.com/arrival-bench/arrival/extensions/k6/internal/traces"
)

// sending hands the requests of a run to those who send them, and records what becomes of each.
type sending struct {
	*schedule.Course // what is due when, the ledger, and the clock
	parts            *run.Parts
	notes            *notes
	options          *Options
	part             segment.Segment // this instance's
	trust            *network.Trust
	spans            *spanSource            // nil: requests carry no trace of it
	samples          *pending               // requests leave them
	answers          receive.AnswerReceiver // takes answers as arrivals; nil: messages arrive elsewhere

	open         *schedule.Open    // open model: hands out requests
	turns        *schedule.Turns   // closed model; nil: open model
	handles      handles           // requests that scripts or a caller send
	crew         crew              // starts more senders when the load needs them
	idle         send.Idle         // connections of the senders of an open load between requests
	most         int               // requests that all instances may have under way
	unauthorized atomic.Int64      // requests answered 401 before any was accepted
	anyAccepted  atomic.Bool       // a request was accepted
	executors    executors         // the script's own that send
	secrets      *strings.Replacer // takes those of the requests out of what a server says
	timeout      time.Duration     // for one request
}

func newSending(e *Engine) *sending {
	o := e.options
	s := &sending{
		Course: e.Course, parts: &e.parts, notes: e.notes, options: o, part: e.segment, trust: e.trust, spans: e.spans,
		samples: &e.pending, open: schedule.NewOpen(e.Course), most: o.mostSenders(openFiles()), secrets: o.Ingest.Secrets(),
		timeout: o.Timeout.duration(),
	}
	s.crew.sending, s.crew.most = s, e.segment.Scale(s.most)-e.segment.Scale(o.Senders*o.InFlight)
	if e.Pacer.Closed() {
		s.turns = schedule.NewTurns(e.Course, len(o.profile.Flows))
	}
	return s
}

// executors are those of a script's own scenarios, beside sender, whose VUs send.
type executors struct {
	mu  sync.Mutex
	all []string
}

// note notes the executor of a VU that sends.
func (x *executors) note(s *lib.ScenarioState) {
	if s == nil || s.Name == senderScenario {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if name := fmt.Sprintf("%s (%s)", s.Name, s.Executor); !slices.Contains(x.all, name) {
		x.all = append(x.all, name)
	}
}

// names are their names, each with its kind; empty: there is none.
func (x *executors) names() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return strings.Join(slices.Sorted(slices.Values(x.all)), ", ")
}

// answered records one attempt and its outcome for the messages.
func (s *sending) answered(slot pacer.Slot, a send.Result, sent time.Time) ledger.Outcome {
	if a.Status != 0 {
		s.Ledger.Answered(slot.Phase, a.Done.Sub(sent).Microseconds())
	}
	switch {
	case a.Status == http.StatusUnauthorized:
		s.unauthorized.Add(1)
	case a.Status/100 == 2 && !s.anyAccepted.Load():
		s.anyAccepted.Store(true)
	}
	a.Secrets = s.secrets
	outcome, class, example := a.Outcome(s.timeout)
	if class != "" {
		s.notes.Count("request", class, example)
	}
	if s.answers != nil && outcome == ledger.Accepted {
		s.answers.Answered(slot.FirstSeq, slot.Messages, a.Arrival())
	}
	return outcome
}

// mayHelp reports whether a retry may help: after no answer, 429 or 5xx.
func mayHelp(status int) bool {
	return status == 0 || status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}

// take returns the next request when it is due, or when it is the sender's turn. ok is false when none is left,
// the run was halted or the VU stopped.
func (s *sending) take(ctx context.Context, w *schedule.Waiter) (slot pacer.Slot, ok bool) {
	select {
	case <-s.Started: // much cheaper than the select below; closed from the first request on
	default:
		select {
		case <-s.Started:
		case <-ctx.Done():
			return slot, false
		}
	}
	switch {
	case s.turns == nil:
		return s.open.Take(ctx, w)
	case !s.turns.Choose(w.Flow > 0):
		s.notes.Count("request", "not sent", "the flows of this run's requests are chosen by run.next(flow), so there are "+
			"none to send in turn")
		return slot, false
	}
	return s.turns.Take(ctx, w)
}

func (s *sending) sent(slot pacer.Slot, at time.Time) {
	s.Ledger.Sent(slot, s.Clock.At(at))
	s.turns.Taken()
}

// drop drops a request that was taken and will not be sent.
func (s *sending) drop(slot pacer.Slot) {
	s.Ledger.Drop(slot)
	s.turns.Taken()
}

// pump sends until the schedule is empty, without running JavaScript, with as many requests in flight as a VU
// may have.
func (s *sending) pump(ctx context.Context, state *lib.State) {
	if s.options.Publishers != nil {
		s.publish(ctx, state)
		return
	}
	var senders sync.WaitGroup
	for range s.options.InFlight {
		senders.Go(func() {
			for vu := newSender(s, state); vu.Send(ctx); {
			}
		})
	}
	senders.Wait()
}

// publishWriters is the number of publishing goroutines: several, so that a connection that the broker does not
// read blocks only one.
const publishWriters = 16

func (s *sending) publish(ctx context.Context, state *lib.State) {
	select {
	case <-s.Started:
	case <-ctx.Done():
		return
	}
	o := s.options.Publishers
	numbers := make([]int, s.part.Scale(o.Connections))
	for n := range numbers {
		numbers[n] = s.part.Unscale(n+1) - 1
	}
	p := send.Publish(ctx, s.parts, send.PublishersSettings{
		PublisherOptions: o, Prefix: s.options.MQTT.Prefix, Network: s.trust.Of(state),
		Timeout: s.timeout,
		Numbers: numbers, Stamped: s.options.Redis.URL != "", Figure: s.notes.figure,
	})
	var writers sync.WaitGroup
	for range publishWriters {
		writers.Go(func() {
			w := schedule.NewWaiter()
			for slot, ok := s.take(ctx, w); ok; slot, ok = s.take(ctx, w) {
				p.Send(ctx, slot)
			}
		})
	}
	writers.Wait()
	p.Close(ctx)
}

// traced reports whether requests carry a traceparent.
func (s *sending) traced() bool { return s.options.Traces > 0 || s.spans != nil }

// appendParent adds the value of a request's traceparent.
func (s *sending) appendParent(b []byte, slot pacer.Slot) []byte {
	context, sampled := traces.Of(s.parts.Bodies.ID(slot.FirstID)), true
	if s.spans != nil {
		var seq int
		seq, sampled = s.spans.picked(slot)
		context.Trace = s.spans.mixing.TraceOf(s.spans.ids.inTraces(seq, slot))
	}
	return context.AppendParent(b, sampled)
}

// crew are more senders of an open load, beside k6's VUs. The last VU that waits for a request to be due hands that
// over and waits for the next one. So as many are under way as the load needs, up to a limit: a pipeline that stands
// still delays no request that is due meanwhile.
type crew struct {
	sending *sending
	ctx     context.Context // the collecting VU's, which outlives the requests; set before the first one
	free    atomic.Int64    // VUs that wait for a request to be due

	mu    sync.Mutex
	idle  []*Sender
	made  int
	most  int // that may be made
	posts sync.WaitGroup
}

// send hands a request to a sender of the crew; false: all of them are busy. state is of a sending VU.
func (c *crew) send(state *lib.State, slot pacer.Slot) bool {
	s := c.take(state)
	if s == nil {
		return false
	}
	c.posts.Go(func() {
		s.post(c.ctx, slot)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.idle = append(c.idle, s)
	})
	return true
}

// take returns an idle sender, or makes one; nil: all are busy, and no more are allowed.
func (c *crew) take(state *lib.State) *Sender {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.idle); n > 0 {
		s := c.idle[n-1]
		c.idle = c.idle[:n-1]
		return s
	}
	if c.made >= c.most {
		return nil
	}
	c.made++
	return newSender(c.sending, state)
}

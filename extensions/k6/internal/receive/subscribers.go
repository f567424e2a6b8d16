// Package receive is the receiving side of a run: the connections that hold its topics (Subscribers, over
// internal/receiver) or its queue, and the Canary.
package receive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/hops"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receiver"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/store"
)

// Receiving are the settings of Subscribers.
type Receiving struct {
	MQTT      Options
	Queue     *store.QueueOptions // in place of MQTT; nil: MQTT
	Answers   bool                // answers of the ingest are the arrivals, in place of MQTT
	Network   network.Network
	Stamped   bool                       // the pipeline's stamps are on the clock of Redis, which is known
	Patience  time.Duration              // how long a broker may be unreachable
	Latencies func(microseconds []int64) // gets the latencies of arrivals
}

// Subscribers are the connections that hold the run's topics, or the one that reads the queue; none if answers
// are the arrivals.
type Subscribers struct {
	Failed chan error // receives the error of a subscriber that ended early

	Receiving
	*run.Parts
	lines []*line
	read  sync.WaitGroup
	stop  context.CancelFunc
	gone  sync.Once

	mu   sync.Mutex
	gaps []report.Gap
}

// Subscribe connects, subscribes, and starts reading. It returns after the broker has confirmed every topic.
func Subscribe(ctx context.Context, parts *run.Parts, o Receiving) (*Subscribers, error) {
	s := &Subscribers{Receiving: o, Parts: parts}
	ctx, s.stop = context.WithCancel(ctx)
	if o.Queue != nil {
		s.Failed = make(chan error, 1)
		if err := s.takeFromQueue(ctx); err != nil {
			s.stop()
			return nil, err
		}
		return s, nil
	}
	if o.Answers {
		return s, nil
	}
	filters := o.MQTT.Filters(s.Profile, s.Name)
	s.Failed = make(chan error, len(filters))
	failures := make([]error, len(filters))
	var connecting sync.WaitGroup
	for i, topics := range filters {
		l := o.MQTT.line(o.Network, s.Name, fmt.Sprintf("subscriber-%d", i+1), topics)
		l.options.URL = o.MQTT.Broker(i)
		l.options.Persistent = o.MQTT.Session == persistentSession
		if prefix := o.MQTT.Status; prefix != "" {
			l.options.Status = fmt.Sprintf("%s%s-%d", prefix, s.Name, i+1)
		}
		s.lines = append(s.lines, l)
		connecting.Go(func() { failures[i] = l.connect(ctx) })
	}
	connecting.Wait()
	if err := cmp.Or(failures...); err != nil {
		s.Close()
		return nil, err
	}
	for i, l := range s.lines {
		s.read.Go(func() { s.hold(ctx, i, l) })
	}
	return s, nil
}

// hold reads connection i, and reconnects it after a loss. Messages that the broker did not keep meanwhile are
// missing from the account, so it records the gap.
func (s *Subscribers) hold(ctx context.Context, i int, l *line) {
	short := 0 // consecutive connections that did not last
	for {
		since := time.Now()
		err := s.listen(i, l.conn)
		if errors.Is(err, net.ErrClosed) || ctx.Err() != nil {
			return
		}
		if short++; time.Since(since) > shortLived {
			short = 0
		}
		gap := s.openGap(i, err)
		s.Count("delivery", "subscriber lost", err.Error())
		// Two clients with one id disconnect each other for ever. Mosquitto 2.0 does not report the cause, and
		// MQTT 3.1.1 cannot.
		if short == shortMost {
			err = fmt.Errorf("%w (%d connections in a row did not last %s; is another client using its id?)", err, short, shortLived)
		}
		if errors.Is(err, receiver.ErrTakenOver) || short == shortMost {
			s.Failed <- fmt.Errorf("subscriber %d: %w", i+1, err)
			return
		}
		if err := l.retry(ctx, s.Patience); err != nil {
			s.Failed <- fmt.Errorf("subscriber %d did not come back: %w", i+1, err)
			return
		}
		s.closeGap(gap)
	}
}

// A subscriber is given up after this many consecutive connections shorter than shortLived.
const (
	shortLived = time.Second
	shortMost  = 5
)

// listen records what one subscriber reads, in the ledger and in k6's metric, until the connection ends.
func (s *Subscribers) listen(i int, conn *receiver.Conn) error {
	var (
		arrivals  []ledger.Arrival
		latencies []int64
	)
	if s.MQTT.Topics == sharedTopics || s.MQTT.Brokers() > 1 {
		i = 0 // all brokers' connections are one subscriber: a second copy is a duplicate
	}
	return conn.Read(hops.Property, func(messages []receiver.Message) {
		arrivals, latencies = arrivals[:0], latencies[:0]
		back, bound := s.Clock.Back(), s.Clock.Bound()
		foreign := 0
		for _, m := range messages {
			seq, ok := s.Bodies.Seq(m.Payload)
			if !ok {
				if !s.Bodies.Sibling(m.Payload) {
					foreign++
				}
				continue
			}
			a := ledger.Arrival{Seq: seq, At: s.Clock.At(m.At), Kernel: m.Kernel, Waited: m.Waited.Microseconds()}
			if m.Waited < 0 { // rounding below 1 µs
				a.Waited = -1
			}
			if m.Hops != nil && s.Stamped {
				stamps, err := hops.Parse(m.Hops)
				if a.Stamped = err == nil; a.Stamped {
					a.Stamps, a.Bound = stamps.Move(back), bound
				} else {
					s.Count("delivery", "stamps unreadable", err.Error())
				}
			}
			arrivals = append(arrivals, a)
		}
		latencies = s.Ledger.Arrive(i, arrivals, latencies)
		if foreign > 0 {
			s.Ledger.Foreign(foreign)
		}
		s.Latencies(latencies)
	})
}

// Close ends the connections, and their sessions. It may be called more than once.
func (s *Subscribers) Close() {
	s.stop()
	for _, l := range s.lines {
		l.close()
	}
	s.read.Wait()
	s.gone.Do(s.forget)
}

// forget ends the sessions that outlive their connections; a broker would keep queueing for them. In MQTT 5,
// DISCONNECT has ended them if the connection was still open.
func (s *Subscribers) forget() {
	if s.MQTT.Session != persistentSession || (s.MQTT.Version == "5" && len(s.Gaps()) == 0) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	var forgetting sync.WaitGroup
	for _, l := range s.lines {
		if l.conn != nil {
			forgetting.Go(func() {
				if err := l.conn.Forget(ctx); err != nil {
					s.Count("delivery", "session left behind", err.Error())
				}
			})
		}
	}
	forgetting.Wait()
}

// Check pings all connections, and records a gap for each that does not answer: missing messages may have been
// in flight there.
func (s *Subscribers) Check() {
	var asking sync.WaitGroup
	for i, l := range s.lines {
		l.mu.Lock()
		conn := l.conn
		l.mu.Unlock()
		asking.Go(func() {
			last, err := conn.Answers(answering)
			known := func(g report.Gap) bool { return g.Subscriber == i+1 && g.ToS == nil }
			s.mu.Lock()
			defer s.mu.Unlock()
			if err != nil && !slices.ContainsFunc(s.gaps, known) {
				from := max(0, s.Elapsed()-time.Since(last)).Seconds()
				s.gaps = append(s.gaps, report.Gap{Subscriber: i + 1, FromS: from, Reason: err.Error()})
			}
		})
	}
	asking.Wait()
}

// answering is how long a broker may take to answer a ping on a busy machine.
const answering = 5 * time.Second

// farewell is how long the end of a run waits for the broker to remove its sessions.
const farewell = 5 * time.Second

// openGap records that a subscriber has lost its connection.
func (s *Subscribers) openGap(subscriber int, err error) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gaps = append(s.gaps, report.Gap{
		Subscriber: subscriber + 1, FromS: s.Elapsed().Seconds(), Reason: err.Error(),
	})
	return len(s.gaps) - 1
}

func (s *Subscribers) closeGap(gap int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gaps[gap].ToS = new(s.Elapsed().Seconds())
}

// Gaps are the times when subscribers were disconnected. A nil s, before the subscribers connect, has none.
func (s *Subscribers) Gaps() []report.Gap {
	if s == nil {
		return []report.Gap{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]report.Gap{}, s.gaps...)
}

// Answered records the messages of an accepted request as arrived, in the ledger and in k6's metric. Here the
// answer is the arrival.
func (s *Subscribers) Answered(slot pacer.Slot, done time.Time) {
	at := s.Clock.At(done)
	arrivals := make([]ledger.Arrival, slot.Messages)
	for i := range arrivals {
		arrivals[i] = ledger.Arrival{Seq: slot.FirstSeq + i, At: at, Waited: -1, Stamped: true, Stamps: hops.Stamps{Received: at}}
	}
	s.Latencies(s.Ledger.Arrive(0, arrivals, nil))
}

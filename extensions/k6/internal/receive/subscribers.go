// Package receive is the receiving side of a run: the connections that hold its topics (Subscribers, over internal/receiver), or its
// queue, and the message that goes round beside the load (Canary).
package receive

import (
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
	"github.com/arrival-bench/arrival/extensions/k6/internal/receiver"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/store"
)

// Receiving is what Subscribers need to know of their run.
type Receiving struct {
	MQTT      Options
	Queue     *store.QueueOptions // in the place of MQTT; nil: MQTT
	Answers   bool                // of the ingest, in the place of MQTT
	Network   network.Network
	Stamped   bool                       // the pipeline's stamps are on the clock of Redis, which is known
	Patience  time.Duration              // how long a broker may be away
	Latencies func(microseconds []int64) // takes those of what has arrived
}

// Subscribers are the connections that hold the run's topics, or the one that reads the queue; none where answers are the arrivals.
type Subscribers struct {
	Failed chan error // receives what ends a subscriber before its time

	Receiving
	*run.Parts
	lines []*line
	read  sync.WaitGroup
	stop  context.CancelFunc
	gone  sync.Once

	mu   sync.Mutex
	gaps []report.Gap
}

// Subscribe connects, subscribes, and begins to read. It does not return before the broker has confirmed every topic.
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
	for _, err := range failures {
		if err != nil {
			s.Close()
			return nil, err
		}
	}
	for i, l := range s.lines {
		s.read.Go(func() { s.hold(ctx, i, l) })
	}
	return s, nil
}

// hold reads connection i, and connects anew where it is lost. What the broker did not keep meanwhile is missing from the
// account, so the gap is noted.
func (s *Subscribers) hold(ctx context.Context, i int, l *line) {
	short := 0 // connections in a row that did not last
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
		// Two clients with one id throw each other out for ever. Mosquitto 2.0 does not tell the reason, nor can MQTT 3.1.1.
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

// A connection that lasts less than shortLived, so many times in a row, is given up.
const (
	shortLived = time.Second
	shortMost  = 5
)

// listen hands what one subscriber reads to the ledger and to k6's metric, until the connection ends.
func (s *Subscribers) listen(i int, conn *receiver.Conn) error {
	var (
		arrivals  []ledger.Arrival
		latencies []int64
	)
	if s.MQTT.Topics == sharedTopics || s.MQTT.Brokers() > 1 {
		i = 0 // they are one subscriber: a second copy is a duplicate, whoever gets it
	}
	return conn.Read(hops.Property, func(messages []receiver.Message) {
		arrivals, latencies = arrivals[:0], latencies[:0]
		back := s.Clock.Back()
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
			if m.Waited < 0 { // less than a µs below
				a.Waited = -1
			}
			if m.Hops != nil && s.Stamped {
				stamps, err := hops.Parse(m.Hops)
				if a.Stamped = err == nil; a.Stamped {
					a.Stamps = stamps.Move(back)
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

// forget ends the sessions that outlive their connections: a broker would go on queueing for them. MQTT 5 has ended them with
// DISCONNECT, where there was a connection to say it over.
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

// Check pings over the connections, and notes a gap of each that does not answer: what is missing may have been on its way there.
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

// answering is how long a broker may take to answer a ping, however busy the machine is.
const answering = 5 * time.Second

// farewell is how long the end of a run waits for the broker to forget its sessions.
const farewell = 5 * time.Second

// openGap notes that a subscriber has lost its connection.
func (s *Subscribers) openGap(subscriber int, err error) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gaps = append(s.gaps, report.Gap{
		Subscriber: subscriber + 1, FromS: s.Elapsed().Seconds(), Reason: err.Error(),
	})
	return len(s.gaps) - 1
}

// closeGap notes that it is back.
func (s *Subscribers) closeGap(gap int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gaps[gap].ToS = new(s.Elapsed().Seconds())
}

// Gaps are when subscribers were without their connections. Before there are subscribers, s being nil, there are none.
func (s *Subscribers) Gaps() []report.Gap {
	if s == nil {
		return []report.Gap{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]report.Gap{}, s.gaps...)
}

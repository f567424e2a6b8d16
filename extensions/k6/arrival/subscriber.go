package arrival

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/hops"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receiver"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// topicsPerSubscribe bounds one SUBSCRIBE packet.
const topicsPerSubscribe = 1000

// subscribers are the connections that hold the run's topics, or the one that reads the queue.
type subscribers struct {
	engine *engine
	state  *lib.State
	metric *metrics.Metric
	tags   *metrics.TagSet // of metric
	topics [][]string      // of each connection
	read   sync.WaitGroup
	failed chan error
	vu     context.Context // of the VU: k6 takes samples until it ends
	stop   context.CancelFunc

	whole []bool // a connection has subscribed to all of its topics
	gone  sync.Once

	mu    sync.Mutex // for conns while they are replaced
	conns []*receiver.Conn
}

// subscribe connects, subscribes, and begins to read. It does not return before the broker has confirmed every topic.
func (e *engine) subscribe(ctx context.Context, state *lib.State, latency *metrics.Metric) (*subscribers, error) {
	s := &subscribers{engine: e, state: state, metric: latency, tags: state.Tags.GetCurrentValues().Tags, vu: ctx}
	if e.options.Queue != nil {
		s.failed = make(chan error, 1)
		ctx, s.stop = context.WithCancel(ctx)
		if err := e.takeFromQueue(ctx, state, s); err != nil {
			s.stop()
			return nil, err
		}
		return s, nil
	}
	s.topics = e.options.topics(e.name, e.targetLevel())
	s.failed = make(chan error, len(s.topics))
	s.conns = make([]*receiver.Conn, len(s.topics))
	s.whole = make([]bool, len(s.topics))
	ctx, s.stop = context.WithCancel(ctx)
	failures := make([]error, len(s.topics))
	var connecting sync.WaitGroup
	for i := range s.topics {
		connecting.Go(func() { failures[i] = s.connect(ctx, i) })
	}
	connecting.Wait()
	for _, err := range failures {
		if err != nil {
			s.close()
			return nil, err
		}
	}
	for i := range s.conns {
		s.read.Go(func() { s.hold(ctx, i) })
	}
	return s, nil
}

// receiverOptions are those of one connection of the run.
func (e *engine) receiverOptions(state *lib.State, name string) receiver.Options {
	o := e.options.MQTT
	return receiver.Options{
		URL: o.URL, Username: o.Username, Password: o.Password, Version: mqttVersions[o.Version],
		ClientID: fmt.Sprintf("arrival-%s-%s", e.name, name), TLS: e.trust.config(state), Dial: state.Dialer.DialContext,
	}
}

// connect opens connection i, or opens it again, and subscribes unless the broker still has its session.
func (s *subscribers) connect(ctx context.Context, i int) error {
	conn, err := s.conns[i], error(nil)
	if conn != nil {
		conn, err = conn.Reconnect(ctx)
	} else {
		o := s.engine.receiverOptions(s.state, fmt.Sprintf("subscriber-%d", i+1))
		o.URL = s.engine.options.MQTT.broker(i)
		o.Persistent = s.engine.options.MQTT.Session == persistentSession
		if prefix := s.engine.options.MQTT.Status; prefix != "" {
			o.Status = fmt.Sprintf("%s%s-%d", prefix, s.engine.name, i+1)
		}
		conn, err = receiver.Connect(ctx, o)
	}
	if err != nil {
		return advise(err)
	}
	if !conn.SessionPresent() || !s.whole[i] {
		s.whole[i] = false
		if err := subscribeAll(ctx, conn, s.topics[i], byte(s.engine.options.MQTT.QoS)); err != nil {
			conn.Close()
			return err
		}
	}
	s.whole[i] = true
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		conn.Close()
		return ctx.Err()
	}
	s.conns[i] = conn
	return nil
}

func subscribeAll(ctx context.Context, conn *receiver.Conn, topics []string, qos byte) error {
	for len(topics) > 0 {
		n := min(len(topics), topicsPerSubscribe)
		if err := conn.Subscribe(ctx, topics[:n], qos); err != nil {
			return err
		}
		topics = topics[n:]
	}
	return nil
}

// hold reads connection i, and connects anew where it is lost. What the broker did not keep meanwhile is missing from the
// account, so the gap is noted.
func (s *subscribers) hold(ctx context.Context, i int) {
	e := s.engine
	short := 0 // connections in a row that did not last
	for {
		since := time.Now()
		err := s.listen(i, s.conns[i])
		if errors.Is(err, net.ErrClosed) || ctx.Err() != nil {
			return
		}
		if short++; time.Since(since) > shortLived {
			short = 0
		}
		gap := e.openGap(i, err)
		e.count("delivery", "subscriber lost", err.Error())
		// Two clients with one id throw each other out for ever. Mosquitto 2.0 does not tell the reason, nor can MQTT 3.1.1.
		if short == shortMost {
			err = fmt.Errorf("%w (%d connections in a row did not last %s; is another client using its id?)", err, short, shortLived)
		}
		if errors.Is(err, receiver.ErrTakenOver) || short == shortMost {
			s.failed <- fmt.Errorf("subscriber %d: %w", i+1, err)
			return
		}
		_, err = backoff.Retry(ctx, func() (struct{}, error) {
			err := s.connect(ctx, i)
			if errors.Is(err, receiver.ErrRefused) {
				err = backoff.Permanent(err)
			}
			return struct{}{}, err
		}, backoff.WithMaxElapsedTime(e.comeBack),
			backoff.WithBackOff(reconnectWaits()))
		if err != nil {
			s.failed <- fmt.Errorf("subscriber %d did not come back: %w", i+1, err)
			return
		}
		e.closeGap(gap)
	}
}

// comeBackLeast is how long an outage of a broker may last before the load is halted; where what is late is waited for longer than
// that (drain), so is the broker.
const comeBackLeast = 30 * time.Second

// A connection that lasts less than shortLived, so many times in a row, is given up.
const (
	shortLived = time.Second
	shortMost  = 5
)

// reconnectWaits are those between attempts to connect again.
func reconnectWaits() backoff.BackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval: 20 * time.Millisecond, MaxInterval: time.Second, Multiplier: 2, RandomizationFactor: 0.5,
	}
}

// listen hands what one subscriber reads to the ledger and to k6's metric, until the connection ends.
func (s *subscribers) listen(i int, conn *receiver.Conn) error {
	e := s.engine
	var (
		arrivals  []ledger.Arrival
		latencies []int64
	)
	if e.options.MQTT.Topics == sharedTopics || e.options.MQTT.brokers() > 1 {
		i = 0 // they are one subscriber: a second copy is a duplicate, whoever gets it
	}
	clocked := e.options.Redis.URL != "" // stamps mean nothing without the clock that they were made by
	return conn.Read(hops.Property, func(messages []receiver.Message) {
		arrivals, latencies = arrivals[:0], latencies[:0]
		back := e.Clock.Back()
		foreign := 0
		for _, m := range messages {
			seq, ok := e.seqOf(m.Payload)
			if !ok {
				if e.segment == nil || !e.bodies.sibling(m.Payload) {
					foreign++
				}
				continue
			}
			a := ledger.Arrival{Seq: seq, At: e.Clock.At(m.At), Kernel: m.Kernel, Waited: m.Waited.Microseconds()}
			if m.Waited < 0 { // less than a µs below
				a.Waited = -1
			}
			if m.Hops != nil && clocked {
				stamps, err := hops.Parse(m.Hops)
				if a.Stamped = err == nil; a.Stamped {
					a.Stamps = stamps.Move(back)
				} else {
					e.count("delivery", "stamps unreadable", err.Error())
				}
			}
			arrivals = append(arrivals, a)
		}
		latencies = e.Ledger.Arrive(i, arrivals, latencies)
		if foreign > 0 {
			e.Ledger.Foreign(foreign)
		}
		s.hand(latencies)
	})
}

// hand gives latencies to k6.
func (s *subscribers) hand(us []int64) {
	s.engine.pending.latencies(s.vu, s.state, s.metric, s.tags, us)
}

// close ends the connections, and their sessions.
func (s *subscribers) close() {
	s.stop()
	s.mu.Lock()
	for _, c := range s.conns {
		if c != nil {
			c.Close()
		}
	}
	s.mu.Unlock()
	s.read.Wait()
	s.gone.Do(s.forget)
}

// forget ends the sessions that outlive their connections: a broker would go on queueing for them. MQTT 5 has ended them with
// DISCONNECT, where there was a connection to say it over.
func (s *subscribers) forget() {
	o := s.engine.options.MQTT
	if o.Session != persistentSession || (o.Version == "5" && !s.engine.hasGaps()) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.vu), farewell)
	defer cancel()
	var forgetting sync.WaitGroup
	for _, c := range s.conns {
		if c != nil {
			forgetting.Go(func() {
				if err := c.Forget(ctx); err != nil {
					s.engine.count("delivery", "session left behind", err.Error())
				}
			})
		}
	}
	forgetting.Wait()
}

// farewell is how long the end of a run waits for the broker to forget its sessions.
const farewell = 5 * time.Second

// openGap notes that a subscriber has lost its connection.
func (e *engine) openGap(subscriber int, err error) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gaps = append(e.gaps, report.Gap{
		Subscriber: subscriber + 1, FromS: e.Elapsed().Seconds(), Reason: err.Error(),
	})
	return len(e.gaps) - 1
}

// closeGap notes that it is back.
func (e *engine) closeGap(gap int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gaps[gap].ToS = new(e.Elapsed().Seconds())
}

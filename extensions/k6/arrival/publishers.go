package arrival

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"go.k6.io/k6/v2/lib"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/fleet"
	"github.com/arrival-bench/arrival/extensions/k6/internal/hops"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
)

// publishersOptions are MQTT connections that publish the messages, in the place of requests to an ingest.
type publishersOptions struct {
	URL         string   `json:"url"`
	Username    string   `json:"username"`
	Password    string   `json:"password"`
	QoS         int      `json:"qos"`
	Connections int      `json:"connections"`
	Rate        float64  `json:"rate"` // connections opened in a second
	More        []string `json:"more"` // brokers beside URL
}

// broker is where connection i goes: to each in turn.
func (o *publishersOptions) broker(i int) string {
	if i %= 1 + len(o.More); i > 0 {
		return o.More[i-1]
	}
	return o.URL
}

func (o *publishersOptions) check(all *options) error {
	for i := range 1 + len(o.More) {
		if _, err := fleet.ParseAddress(o.broker(i)); err != nil {
			return fmt.Errorf("publishers.%s: %w", []string{"url", "more"}[min(i, 1)], err)
		}
	}
	if len(o.More) > 0 && len(o.More) != len(all.MQTT.More) {
		return fmt.Errorf("publishers.more has %d brokers and mqtt.more %d: what is published to one has to be read there", len(o.More), len(all.MQTT.More))
	}
	switch {
	case o.QoS != 0 && o.QoS != 1:
		return fmt.Errorf("publishers.qos %d is not 0 or 1", o.QoS)
	case o.Connections < 1:
		return fmt.Errorf("publishers.connections %d: 1 or more are wanted", o.Connections)
	case !(o.Rate > 0):
		return fmt.Errorf("publishers.rate %g: connections a second, above 0", o.Rate)
	case all.profile.Closed():
		return errors.New("publishers want a profile with arrival rates: with vus a message is due when an answer is there")
	}
	for _, f := range all.profile.Flows {
		if f.Messages != 1 {
			return fmt.Errorf("publishers send one message at a time, but flow %q has %d in a request", f.Name, f.Messages)
		}
	}
	return nil
}

// publishers hold the connections, and give each its turn.
type publishers struct {
	*publishersOptions
	engine *engine
	state  *lib.State
	conns  sync.WaitGroup

	mu      sync.Mutex
	closed  bool // what opens from now on is of no use
	open    []*fleet.Conn
	round   []*fleet.Conn // of the open ones, those whose turn comes still
	tried   int
	most    int // open at once
	refused int
	lost    int
	took    time.Duration // until the last one was open
}

const (
	// publisherWriters are goroutines that publish: more than one, so that a broker that does not read a connection holds up that one.
	publisherWriters = 16
	// patrol is how often each connection is looked after.
	patrol = time.Second
)

// publish opens the connections, publishes the schedule over them, and closes them when everything has been answered.
func (e *engine) publish(ctx context.Context, state *lib.State) {
	p := &publishers{publishersOptions: e.options.Publishers, engine: e, state: state}
	select {
	case <-e.Started:
	case <-ctx.Done():
		return
	}
	spreadSources(state)
	tending, stop := context.WithCancel(ctx)
	var work, writers sync.WaitGroup
	work.Go(func() { p.connect(tending) })
	work.Go(func() { p.tend(tending) })
	for range publisherWriters {
		writers.Go(func() {
			for w := schedule.NewWaiter(); ; {
				slot, ok := e.take(ctx, w)
				if !ok {
					return
				}
				p.send(ctx, slot)
			}
		})
	}
	writers.Wait()
	p.tell()
	for e.Ledger.InFlight() > 0 && clock.SleepUntil(ctx, nil, time.Now().Add(look)) {
	}
	stop()
	work.Wait()
	p.mu.Lock()
	open := p.open
	p.open, p.closed = nil, true
	p.mu.Unlock()
	for _, c := range open {
		c.Close()
	}
	p.conns.Wait()
}

// connect opens the connections, so many a second.
func (p *publishers) connect(ctx context.Context) {
	for n := range p.engine.segment.Scale(p.Connections) {
		i := p.engine.segment.Unscale(n+1) - 1 // its number in the whole
		due := p.engine.Epoch.Add(time.Duration(float64(i) / p.Rate * float64(time.Second)))
		if !clock.SleepUntil(ctx, p.engine.Halted, due) {
			return
		}
		p.conns.Go(func() { p.hold(ctx, i) })
	}
}

// hold is the life of a connection.
func (p *publishers) hold(ctx context.Context, i int) {
	e := p.engine
	conn, err := fleet.Connect(withSource(ctx, i), fleet.Options{
		URL: p.broker(i), Username: p.Username, Password: p.Password, ClientID: fmt.Sprintf("arrival-%s-publisher-%d", e.id, i+1),
		TLS: e.trust.config(p.state), Dial: p.state.Dialer.DialContext, Timeout: e.options.Timeout.duration(),
	})
	if ctx.Err() != nil || !p.joined(conn, err) {
		if err == nil {
			conn.Close()
		}
		return
	}
	if err != nil {
		e.count("request", "no connection: "+classOf(err), advise(err).Error())
		return
	}
	if err := conn.Read(); !errors.Is(err, net.ErrClosed) {
		p.left(conn)
		e.count("request", "connection lost: "+classOf(err), err.Error())
	}
}

// joined notes what became of a connection; false when it comes too late.
func (p *publishers) joined(conn *fleet.Conn, err error) bool {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return false
	}
	if p.tried++; err != nil {
		p.refused++
	} else {
		p.open = append(p.open, conn)
		p.most = max(p.most, len(p.open))
		p.took = time.Since(p.engine.Epoch)
	}
	tell := err != nil || p.tried == p.engine.segment.Scale(p.Connections)
	p.mu.Unlock()
	if tell {
		p.tell()
	}
	return true
}

func (p *publishers) left(conn *fleet.Conn) {
	p.mu.Lock()
	p.lost++
	for i, c := range p.open {
		if c == conn {
			p.open[i] = p.open[len(p.open)-1]
			p.open = p.open[:len(p.open)-1]
			break
		}
	}
	p.mu.Unlock()
	p.tell()
}

// Figures of a run with publishers.
const (
	figureWanted  = "connections wanted"
	figureHeld    = "connections held"
	figureRefused = "connections refused"
	figureLost    = "connections lost"
	figureOpening = "time to open them"
)

// tell puts the figures into the report.
func (p *publishers) tell() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.engine.figure(figureWanted, float64(p.engine.segment.Scale(p.Connections)), "")
	p.engine.figure(figureHeld, float64(p.most), "")
	p.engine.figure(figureRefused, float64(p.refused), "")
	p.engine.figure(figureLost, float64(p.lost), "")
	p.engine.figure(figureOpening, p.took.Seconds(), "s")
}

// tend keeps the connections alive, and ends those that have no answer.
func (p *publishers) tend(ctx context.Context) {
	for clock.SleepUntil(ctx, nil, time.Now().Add(patrol)) {
		p.mu.Lock()
		open := append([]*fleet.Conn{}, p.open...)
		p.mu.Unlock()
		now := time.Now()
		for _, c := range open {
			c.Tend(now)
		}
	}
}

// pick is the next connection to publish. Each has one turn in a round, in an order that is drawn anew, so the time between two of its
// messages is between 0 and twice the mean. It waits for the first to be open, and returns nil when there is none to wait for.
func (p *publishers) pick(ctx context.Context) *fleet.Conn {
	for {
		p.mu.Lock()
		if len(p.round) == 0 {
			p.round = append(p.round, p.open...)
			rand.Shuffle(len(p.round), func(i, j int) { p.round[i], p.round[j] = p.round[j], p.round[i] })
		}
		if last := len(p.round) - 1; last >= 0 {
			conn := p.round[last]
			p.round = p.round[:last]
			p.mu.Unlock()
			if !conn.Ended() {
				return conn
			}
			continue
		}
		hopeless := p.tried == p.engine.segment.Scale(p.Connections)
		p.mu.Unlock()
		if hopeless || !clock.SleepUntil(ctx, p.engine.Halted, time.Now().Add(look)) {
			return nil
		}
	}
}

// send publishes a message. What stands as HTTP is the time until its PUBACK, and all of its way is delivery.
func (p *publishers) send(ctx context.Context, slot pacer.Slot) {
	e := p.engine
	conn := p.pick(ctx)
	if conn == nil {
		e.Ledger.Drop(slot)
		return
	}
	topic := e.bodies.flows[slot.Flow].target([]byte(e.options.MQTT.Prefix), slot, 0)
	body := e.bodies.append(nil, slot)
	sent := time.Now()
	at := e.Clock.At(sent)
	var stamps packets.User
	if e.options.Redis.URL != "" {
		stamps = packets.User{Key: hops.Property, Value: fmt.Sprintf("%d,0,0,0", at+e.Clock.Offset(at))}
	}
	e.Ledger.Sent(slot, at)
	conn.Publish(string(topic), body, byte(p.QoS), stamps, func(reason byte, err error) {
		outcome := ledger.Accepted
		switch {
		case errors.Is(err, fleet.ErrNotSent):
			e.count("request", "not sent", err.Error())
			outcome = ledger.Rejected
		case err != nil:
			e.count("request", "no PUBACK: "+classOf(err), err.Error())
			outcome = ledger.Unknown
		case reason >= packets.PubackUnspecifiedError:
			e.count("request", fmt.Sprintf("PUBACK 0x%02X", reason), "the broker refused the message")
			outcome = ledger.Rejected
		}
		if err == nil {
			e.Ledger.Answered(slot.Phase, time.Since(sent).Microseconds())
		}
		e.Ledger.Settle(slot, outcome)
	})
}

package send

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/hops"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/mqtt"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// PublisherOptions are the settings of MQTT connections that publish the messages, in place of requests to an
// ingest.
type PublisherOptions struct {
	URL         string   `json:"url"`
	Username    string   `json:"username"`
	Password    string   `json:"password"`
	QoS         int      `json:"qos"`
	Connections int      `json:"connections"`
	Rate        float64  `json:"rate"` // connections opened per second
	More        []string `json:"more"` // brokers besides URL
}

// Broker is the address for connection i.
func (o *PublisherOptions) Broker(i int) string { return mqtt.Broker(o.URL, o.More, i) }

// Check refuses settings that do not fit a profile or the subscribers' brokers.
func (o *PublisherOptions) Check(p *profile.Profile, more int) error {
	for i := range 1 + len(o.More) {
		if _, err := tcpAddress(o.Broker(i)); err != nil {
			return fmt.Errorf("publishers.%s: %w", []string{"url", "more"}[min(i, 1)], err)
		}
	}
	if len(o.More) > 0 && len(o.More) != more {
		return fmt.Errorf("publishers.more has %d brokers and mqtt.more %d: what is published to one has to be read "+
			"there", len(o.More), more)
	}
	switch {
	case o.QoS != 0 && o.QoS != 1:
		return fmt.Errorf("publishers.qos %d is not 0 or 1", o.QoS)
	case o.Connections < 1:
		return fmt.Errorf("publishers.connections %d: must be 1 or more", o.Connections)
	case !(o.Rate > 0):
		return fmt.Errorf("publishers.rate %g: connections a second, above 0", o.Rate)
	case p.Closed():
		return errors.New("publishers need a profile with arrival rates: with vus a message is due when an answer " +
			"is there")
	}
	for _, f := range p.Flows {
		if f.Messages != 1 {
			return fmt.Errorf("publishers send one message at a time, but flow %q has %d in a request",
				f.Name, f.Messages)
		}
	}
	return nil
}

// PublishersSettings are the settings of Publishers.
type PublishersSettings struct {
	*PublisherOptions
	Prefix  string // topics begin with it
	Network network.Network
	Timeout time.Duration // of the waits for CONNACK and PUBACK
	Numbers []int         // this instance's connections among all, counted from 0
	Stamped bool          // messages carry the time of sending on the clock of Redis
	Figure  func(name string, value float64, unit string)
}

// Publishers hold the connections and let them publish in turn.
type Publishers struct {
	PublishersSettings
	*run.Parts
	work  sync.WaitGroup // goroutines that open and tend connections
	stop  context.CancelFunc
	conns sync.WaitGroup

	mu      sync.Mutex
	closed  bool // connections that open later are closed
	open    []*publisher
	round   []*publisher // open connections that have not published in this round
	tried   int
	most    int // most open at once
	refused int
	lost    int
	took    time.Duration // until the last one was open
}

const (
	// keepAlive of a connection, s, unless the broker sets another one.
	keepAlive = 60
	// patrol is the interval of tending each connection.
	patrol = time.Second
	// look is the interval of checking for an open connection.
	look = 20 * time.Millisecond
)

// Publish starts opening the connections. Close ends them.
func Publish(ctx context.Context, parts *run.Parts, o PublishersSettings) *Publishers {
	p := &Publishers{PublishersSettings: o, Parts: parts}
	spreadSources(o.Network.Dialer)
	ctx, p.stop = context.WithCancel(ctx)
	p.work.Go(func() { p.connect(ctx) })
	p.work.Go(func() { p.tend(ctx) })
	return p
}

// Close waits until everything sent has been answered, and closes the connections.
func (p *Publishers) Close(ctx context.Context) {
	p.report()
	for p.Ledger.InFlight() > 0 && clock.SleepUntil(ctx, nil, time.Now().Add(look)) {
	}
	p.stop()
	p.work.Wait()
	p.mu.Lock()
	open := p.open
	p.open, p.closed = nil, true
	p.mu.Unlock()
	for _, c := range open {
		p.conns.Go(c.close) // all at once: the close of one waits while its broker does not read
	}
	p.conns.Wait()
}

// connect opens the connections at the given rate.
func (p *Publishers) connect(ctx context.Context) {
	for _, i := range p.Numbers {
		due := p.Epoch.Add(time.Duration(float64(i) / p.Rate * float64(time.Second)))
		if !clock.SleepUntil(ctx, p.Halted, due) {
			return
		}
		p.conns.Go(func() { p.hold(ctx, i) })
	}
}

// hold opens and reads one connection.
func (p *Publishers) hold(ctx context.Context, i int) {
	conn, err := connect(withSource(ctx, i), p.Broker(i), mqtt.Connect{
		Version: mqtt.Version5, ClientID: fmt.Sprintf("arrival-%s-publisher-%d", p.ID, i+1), Clean: true,
		Username: p.Username, Password: p.Password, KeepAlive: keepAlive,
	}, p.Network, p.Timeout)
	if ctx.Err() != nil || !p.joined(conn, err) {
		if err == nil {
			conn.close()
		}
		return
	}
	if err != nil {
		p.Count("request", "no connection: "+network.ClassOf(err), network.Advise(err).Error())
		return
	}
	if err := conn.read(); !errors.Is(err, net.ErrClosed) {
		p.left(conn)
		p.Count("request", "connection lost: "+network.ClassOf(err), err.Error())
	}
}

// joined records the result of opening a connection; false: it came too late.
func (p *Publishers) joined(conn *publisher, err error) bool {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return false
	}
	p.tried++
	if err != nil {
		p.refused++
	} else {
		p.open = append(p.open, conn)
		p.most = max(p.most, len(p.open))
		p.took = time.Since(p.Epoch)
	}
	last := err != nil || p.tried == len(p.Numbers)
	p.mu.Unlock()
	if last {
		p.report()
	}
	return true
}

func (p *Publishers) left(conn *publisher) {
	p.mu.Lock()
	p.lost++
	p.open = slices.DeleteFunc(p.open, func(c *publisher) bool { return c == conn })
	p.mu.Unlock()
	p.report()
}

// Figures of a run with Publishers, beside those of the report package that facts are made of.
const (
	FigureRefused = "connections refused"
	FigureOpening = "time to open them"
)

// report adds the figures to the report.
func (p *Publishers) report() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Figure(runfile.FigureWanted, float64(len(p.Numbers)), "")
	p.Figure(runfile.FigureHeld, float64(p.most), "")
	p.Figure(FigureRefused, float64(p.refused), "")
	p.Figure(runfile.FigureLost, float64(p.lost), "")
	p.Figure(FigureOpening, p.took.Seconds(), "s")
}

// tend keeps the connections alive, and ends those that do not answer.
func (p *Publishers) tend(ctx context.Context) {
	for clock.SleepUntil(ctx, nil, time.Now().Add(patrol)) {
		p.mu.Lock()
		open := slices.Clone(p.open)
		p.mu.Unlock()
		now := time.Now()
		for _, c := range open {
			c.tend(now)
		}
	}
}

// pick returns the next connection to publish. Each publishes once in a round, in a new random order, so the
// time between two of its messages is between 0 and twice the mean. It waits for the first open connection, and
// returns nil if none can come.
func (p *Publishers) pick(ctx context.Context) *publisher {
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
			if !conn.isOver() {
				return conn
			}
			continue
		}
		hopeless := p.tried == len(p.Numbers)
		p.mu.Unlock()
		if hopeless || !clock.SleepUntil(ctx, p.Halted, time.Now().Add(look)) {
			return nil
		}
	}
}

// Send publishes a message. Its http stage is the time until PUBACK; the rest of the path counts as delivery.
func (p *Publishers) Send(ctx context.Context, slot pacer.Slot) {
	conn := p.pick(ctx)
	if conn == nil {
		p.Ledger.Drop(slot)
		return
	}
	message := mqtt.Publish{
		Topic: p.Bodies.AppendTarget([]byte(p.Prefix), slot, 0), Payload: p.Bodies.Append(nil, slot), QoS: byte(p.QoS),
	}
	sent := time.Now()
	at := p.Clock.At(sent)
	if p.Stamped {
		stamps := fmt.Sprintf("%d,0,0,0", at+p.Clock.Offset(at))
		message.Properties = mqtt.AppendUserProperty(nil, hops.Property, stamps)
	}
	p.Ledger.Leaving(slot)
	left := conn.publish(message, func(reason byte, err error) {
		outcome := ledger.Accepted
		switch {
		case errors.Is(err, errNotSent):
			p.Count("request", "not sent", err.Error())
			outcome = ledger.Rejected
		case err != nil:
			p.Count("request", "no PUBACK: "+network.ClassOf(err), err.Error())
			outcome = ledger.Unknown
		case reason >= mqtt.Failed:
			p.Count("request", fmt.Sprintf("PUBACK 0x%02X", reason), "the broker refused the message")
			outcome = ledger.Rejected
		}
		if err == nil {
			p.Ledger.Answered(slot.Phase, time.Since(sent).Microseconds())
		}
		p.Ledger.Settle(slot, outcome)
	})
	if left.IsZero() || p.Stamped { // the first stage ends at the time in the stamps
		left = sent
	}
	p.Ledger.LeftAndWritten(slot, p.Clock.At(left), p.Clock.At(time.Now()))
}

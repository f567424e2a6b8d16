package mqtt

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqtt"
	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
)

// SubscriberOptions say where and how to connect, and with which credentials.
type SubscriberOptions struct {
	URL      string // mqtt://[user:password@]host[:port]; also mqtts, ws, wss
	Username string // instead of the URL's
	Password string
	ClientID string
	Version  int // 4 is MQTT 3.1.1, which has no properties; 5 is the default
	// Persistent asks the broker to keep the session while we are disconnected: subscriptions, and messages
	// with QoS 1 and 2. In MQTT 5 it expires after an hour; in 3.1.1 it stays until Forget.
	Persistent bool
	// Status is the topic of a retained "online", and of "offline" when the connection is gone; retained if it
	// was lost. Empty: none.
	Status string
	TLS    *tls.Config // for mqtts and wss
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
}

const (
	keepAlive      = 30 * time.Second
	connectTimeout = 10 * time.Second
	// receiveMaximum is how many QoS 1 and 2 messages may be in flight to us (MQTT 5, 3.1.2.11.3). Without it
	// the broker's default of 20 would throttle a burst.
	receiveMaximum = 65535
	// sessionExpiry is how long a persistent session of MQTT 5 outlives its connection, in s.
	sessionExpiry = 3600
)

// Subscriber is one connection that subscribes, reads, and gives the arrival of each message (internal/socket):
// Connect, Subscribe, then Read until it returns; Close. After a loss, Reconnect returns the next one, which continues
// a persistent session.
type Subscriber struct {
	conn     *mqtt.Conn
	options  SubscriberOptions
	socket   *socket.Conn // below the stream of MQTT packets
	packetID uint16
	open     *mqtt.IDs    // QoS 2 messages that were delivered and not released
	waits    atomic.Int64 // since when Read waits for the broker, in ns since began; 0: it does not

	writes sync.Mutex
	closed chan struct{}
	once   sync.Once
	silent atomic.Bool // the broker has not answered a ping
}

// began is a time on the monotonic clock: the wall clock may be set.
var began = time.Now()

// Connect opens a connection, with a clean session unless Persistent is set. Errors name the broker's address
// and its reason; a permanent refusal is ErrRefused.
func Connect(ctx context.Context, o SubscriberOptions) (*Subscriber, error) {
	return connect(ctx, o, &mqtt.IDs{})
}

// Reconnect drops the connection, without DISCONNECT, and opens the next one of the same subscriber. If the
// broker still has the persistent session (SessionPresent), it continues, and its QoS 2 messages are not handed
// on twice. Otherwise subscribe again. Read must have returned. After an error it may be called again.
func (c *Subscriber) Reconnect(ctx context.Context) (*Subscriber, error) {
	c.end(nil)
	return connect(ctx, c.options, c.open)
}

// Forget closes the connection and ends the session for good, also if the connection was lost already.
func (c *Subscriber) Forget(ctx context.Context) error {
	c.Close()
	o := c.options
	o.Persistent = false // a clean session replaces the existing one [MQTT-3.1.2-6]
	o.Status = ""        // already published
	last, err := Connect(ctx, o)
	if err != nil {
		return err
	}
	last.Close()
	return nil
}

func connect(ctx context.Context, o SubscriberOptions, open *mqtt.IDs) (*Subscriber, error) {
	a, err := mqtt.ParseAddress(o.URL)
	if err != nil {
		return nil, err
	}
	o.complete()
	hello := connectPacket(&o)
	hello.UseCredentials(a)
	if err := check(&hello, o.Status); err != nil {
		return nil, err
	}
	ctx, cancel := mqtt.Within(ctx, connectTimeout)
	defer cancel()
	var s *socket.Conn
	dialer := mqtt.Dialer{TLS: o.TLS, ReadSize: readSize, Most: maxPacket}
	dialer.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := o.Dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		s = socket.New(conn, a.Secure || a.Web)
		return s, nil
	}
	accepted, err := dialer.Connect(ctx, a, hello)
	if err != nil {
		return nil, err
	}
	c := newSubscriber(accepted, s, o)
	c.open = open
	if !c.SessionPresent() {
		*c.open = mqtt.IDs{}
	}
	if o.Status != "" {
		_ = c.write(status(&o, online).Append(nil, o.Version)) // a failure shows in Read
	}
	if c.conn.Alive.KeepAlive > 0 {
		c.conn.Alive.Answer = c.conn.Alive.KeepAlive / 2
		go c.ping()
	}
	return c, nil
}

func newSubscriber(accepted *mqtt.Conn, s *socket.Conn, o SubscriberOptions) *Subscriber {
	return &Subscriber{conn: accepted, options: o, socket: s, open: &mqtt.IDs{}, closed: make(chan struct{})}
}

// complete sets the defaults.
func (o *SubscriberOptions) complete() {
	if o.Version == 0 {
		o.Version = mqtt.Version5
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext
	}
}

// check refuses values that CONNECT cannot hold.
func check(hello *mqtt.Connect, status string) error {
	if hello.Password != "" && hello.Username == "" { // [MQTT-3.1.2-22] of 3.1.1
		return errors.New("a password for the MQTT broker needs a user name")
	}
	for _, field := range []struct{ name, value string }{
		{"client id", hello.ClientID}, {"user name", hello.Username}, {"password", hello.Password},
		{"status topic", status},
	} {
		if n := len(field.value); n > mqtt.MaxField {
			return fmt.Errorf("the %s for the MQTT broker has %d bytes; allowed: %d", field.name, n, mqtt.MaxField)
		}
	}
	return nil
}

// SessionPresent reports whether the broker held a session for us, with its subscriptions and messages.
func (c *Subscriber) SessionPresent() bool { return c.conn.Accepted.Present }

// exchange sends a request and reads its answer. The end of the context closes the connection.
func (c *Subscriber) exchange(ctx context.Context, request string, do func() error) error {
	stop := context.AfterFunc(ctx, c.conn.Cut)
	err := do()
	if !stop() {
		return fmt.Errorf("MQTT broker %s: %s: %w", c.conn.Host, request, context.Cause(ctx))
	}
	return err
}

// ping keeps the connection alive, and ends it if the broker is silent.
func (c *Subscriber) ping() {
	for {
		now := time.Now()
		ping, silent, again := c.conn.Alive.Look(now, c.conn.Sent(), c.heardOrReads(now))
		switch {
		case silent:
			c.silent.Store(true)
			c.conn.Cut()
			return
		case ping:
			go func() { _ = c.write(mqtt.AppendPing(nil)) }() // a full socket would hold it up
		}
		select {
		case <-c.closed:
			return
		case <-time.After(again):
		}
	}
}

// heardOrReads is when the broker was last heard, or now while it is not listened to: the handler runs, and an answer
// may wait in the socket.
func (c *Subscriber) heardOrReads(now time.Time) time.Time {
	waits := c.waits.Load()
	if waits == 0 {
		return now
	}
	since, heard := began.Add(time.Duration(waits)), c.conn.Heard()
	if since.After(heard) {
		return since
	}
	return heard
}

// Answers pings the broker. It returns nil if the broker sends anything within this time, otherwise an error
// and the time of its last bytes.
func (c *Subscriber) Answers(within time.Duration) (last time.Time, err error) {
	before := c.conn.Heard()
	go func() { _ = c.write(mqtt.AppendPing(nil)) }() // a full socket would hold it up
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if c.conn.Heard() != before {
			return time.Now(), nil
		}
	}
	return before, c.silence(within)
}

func (c *Subscriber) silence(within time.Duration) error {
	return fmt.Errorf("MQTT broker %s is silent: no answer to a ping within %s", c.conn.Host, within)
}

func (c *Subscriber) write(b []byte) error {
	c.writes.Lock()
	defer c.writes.Unlock()
	_, err := c.conn.Write(b)
	return err
}

// Close sends DISCONNECT and closes the connection; Read then returns net.ErrClosed. It may be called more than
// once.
//
// In MQTT 5 it also ends a persistent session, so that the broker does not keep queueing after a run. MQTT
// 3.1.1 cannot: use Forget.
func (c *Subscriber) Close() {
	var last []byte
	if c.options.Status != "" {
		last = goodbye(&c.options)
	}
	c.end(append(last, disconnectPacket(&c.options)...))
}

// end closes the connection after its last packets.
func (c *Subscriber) end(last []byte) {
	c.once.Do(func() {
		close(c.closed)
		if last != nil {
			// Closes the socket below the stream: that also ends a blocked write, which this one would wait
			// for.
			cut := time.AfterFunc(time.Second, c.conn.Cut)
			defer cut.Stop()
			_ = c.write(last)
		} else {
			c.conn.Cut()
		}
		_ = c.conn.Close()
	})
}

func (c *Subscriber) reason(err error) error {
	select {
	case <-c.closed:
		return net.ErrClosed
	default:
	}
	if c.silent.Load() {
		return c.silence(c.conn.Alive.Answer)
	}
	return fmt.Errorf("MQTT broker %s: the connection ended: %w", c.conn.Host, err)
}

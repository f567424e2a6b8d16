// Package mqtt5 is the receiving half of an MQTT 5 client: it subscribes and reads, and stamps what it reads at the moment
// it leaves the socket. Control packets are paho's; the reading of PUBLISH packets is our own, because their time of
// arrival is what the project measures: paho.golang takes 17.7 µs of CPU a message, which the load would wait for.
package mqtt5

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/eclipse/paho.golang/packets"
)

// Options say where and as whom to connect.
type Options struct {
	URL      string // mqtt://[user:password@]host[:port], or mqtts://
	Username string // instead of the URL's
	Password string
	ClientID string
	TLS      *tls.Config // for mqtts://
	Dial     func(ctx context.Context, network, address string) (net.Conn, error)
}

const (
	keepAlive      = 30 * time.Second
	connectTimeout = 10 * time.Second
	// receiveMaximum is how many QoS 1 messages the broker may have on the way to us (MQTT 5, 3.1.2.11.3). The
	// broker's default of 20 for clients that say nothing would throttle a burst.
	receiveMaximum = 65535
)

// Conn is a connection of one subscriber.
type Conn struct {
	net     net.Conn
	address string
	writes  sync.Mutex
	closed  chan struct{}
	once    sync.Once
}

// Address turns an MQTT URL into host:port. An error says which schemes are allowed.
func Address(raw string) (address string, secure bool, user *url.Userinfo, err error) {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" {
		return "", false, nil, errors.New("not an MQTT address: mqtt://host:port or mqtts://host:port")
	}
	port := "1883"
	switch u.Scheme {
	case "mqtt", "tcp":
	case "mqtts", "ssl", "tls":
		secure, port = true, "8883"
	default:
		return "", false, nil, fmt.Errorf("scheme %q of the MQTT address is not supported; allowed: mqtt, tcp, mqtts, ssl, tls", u.Scheme)
	}
	if u.Port() != "" {
		port = u.Port()
	}
	return net.JoinHostPort(u.Hostname(), port), secure, u.User, nil
}

// Connect opens a clean session. An error names the broker's address and its reason.
func Connect(ctx context.Context, o Options) (*Conn, error) {
	address, secure, user, err := Address(o.URL)
	if err != nil {
		return nil, err
	}
	if o.Username == "" && user != nil {
		o.Username = user.Username()
		o.Password, _ = user.Password()
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()

	conn, err := o.Dial(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("MQTT broker %s can't be reached: %w", address, err)
	}
	if secure {
		config := o.TLS.Clone()
		if config.ServerName == "" {
			config.ServerName, _, _ = net.SplitHostPort(address)
		}
		conn = tls.Client(conn, config)
	}
	c := &Conn{net: conn, address: address, closed: make(chan struct{})}
	if err := c.handshake(ctx, o); err != nil {
		_ = conn.Close()
		return nil, err
	}
	go c.ping()
	return c, nil
}

func (c *Conn) handshake(ctx context.Context, o Options) error {
	deadline, _ := ctx.Deadline()
	_ = c.net.SetDeadline(deadline)
	defer func() { _ = c.net.SetDeadline(time.Time{}) }()

	maximum := uint16(receiveMaximum)
	packet := packets.NewControlPacket(packets.CONNECT)
	connect := packet.Content.(*packets.Connect)
	connect.ClientID = o.ClientID
	connect.CleanStart = true
	connect.KeepAlive = uint16(keepAlive / time.Second)
	connect.Properties = &packets.Properties{ReceiveMaximum: &maximum}
	if o.Username != "" {
		connect.UsernameFlag, connect.Username = true, o.Username
		connect.PasswordFlag, connect.Password = true, []byte(o.Password)
	}
	if _, err := packet.WriteTo(c.net); err != nil {
		return fmt.Errorf("MQTT broker %s: %w", c.address, err)
	}
	answer, err := packets.ReadPacket(c.net)
	if err != nil {
		return fmt.Errorf("MQTT broker %s did not answer CONNECT: %w", c.address, err)
	}
	ack, ok := answer.Content.(*packets.Connack)
	if !ok {
		return fmt.Errorf("MQTT broker %s answered CONNECT with %s", c.address, answer.PacketType())
	}
	if ack.ReasonCode != 0 {
		return fmt.Errorf("MQTT broker %s refused user %q: %s", c.address, o.Username, ack.Reason())
	}
	return nil
}

// Subscribe subscribes to topics at a QoS and waits for the broker's word on each. It must come before Read.
func (c *Conn) Subscribe(ctx context.Context, topics []string, qos byte) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	deadline, _ := ctx.Deadline()
	_ = c.net.SetDeadline(deadline)
	defer func() { _ = c.net.SetDeadline(time.Time{}) }()

	packet := packets.NewControlPacket(packets.SUBSCRIBE)
	subscribe := packet.Content.(*packets.Subscribe)
	subscribe.PacketID = 1
	for _, t := range topics {
		subscribe.Subscriptions = append(subscribe.Subscriptions, packets.SubOptions{Topic: t, QoS: qos})
	}
	if _, err := packet.WriteTo(c.net); err != nil {
		return fmt.Errorf("MQTT broker %s: %w", c.address, err)
	}
	ack, err := c.suback()
	if err != nil {
		return err
	}
	for i, reason := range ack.Reasons {
		if reason >= 0x80 {
			return fmt.Errorf("MQTT broker %s refused the subscription to %s: %s", c.address, topics[i], ack.Reason(i))
		}
	}
	return nil
}

// suback reads until the broker answers a SUBSCRIBE. Messages may come before (MQTT 5, 3.8.4): retained ones, or those of
// another run. No request has been sent, so none is ours; they are acknowledged and forgotten.
func (c *Conn) suback() (*packets.Suback, error) {
	for {
		answer, err := packets.ReadPacket(c.net)
		if err != nil {
			return nil, fmt.Errorf("MQTT broker %s did not answer SUBSCRIBE: %w", c.address, err)
		}
		switch p := answer.Content.(type) {
		case *packets.Suback:
			return p, nil
		case *packets.Publish:
			if p.QoS == 1 {
				if err := c.write([]byte{packets.PUBACK << 4, 2, byte(p.PacketID >> 8), byte(p.PacketID)}); err != nil {
					return nil, fmt.Errorf("MQTT broker %s: %w", c.address, err)
				}
			}
		default:
			return nil, fmt.Errorf("MQTT broker %s answered SUBSCRIBE with %s", c.address, answer.PacketType())
		}
	}
}

func (c *Conn) ping() {
	tick := time.NewTicker(keepAlive / 2)
	defer tick.Stop()
	for {
		select {
		case <-c.closed:
			return
		case <-tick.C:
			_ = c.write([]byte{packets.PINGREQ << 4, 0}) // a failure shows in Read
		}
	}
}

func (c *Conn) write(b []byte) error {
	c.writes.Lock()
	defer c.writes.Unlock()
	_, err := c.net.Write(b)
	return err
}

// Close says DISCONNECT and closes the connection; Read then returns net.ErrClosed. It may be called more than once.
func (c *Conn) Close() {
	c.once.Do(func() {
		close(c.closed)
		_ = c.net.SetWriteDeadline(time.Now().Add(time.Second))
		_ = c.write([]byte{packets.DISCONNECT << 4, 0})
		_ = c.net.Close()
	})
}

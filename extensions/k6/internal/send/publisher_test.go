package send

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqtt"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
)

// piped is a dialer that returns one end of a pipe.
type piped struct{ net.Conn }

func (p piped) DialContext(context.Context, string, string) (net.Conn, error) { return p.Conn, nil }

// connected returns a connection and the broker's end of it. properties are CONNACK's.
func connected(t *testing.T, properties ...byte) (*publisher, net.Conn) {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = theirs.Close() })
	go func() {
		if _, err := packets.ReadPacket(theirs); err == nil {
			size := byte(len(properties))
			_, _ = theirs.Write(append([]byte{packets.CONNACK << 4, 3 + size, 0, 0, size}, properties...))
		}
	}()
	hello := mqtt.Connect{Version: mqtt.Version5, ClientID: "one", KeepAlive: keepAlive, Clean: true}
	c, err := connect(t.Context(), "mqtt://broker", hello, network.Network{Dialer: piped{ours}}, 5*time.Second)
	require.NoError(t, err)
	return c, theirs
}

func TestPingsFollowTheKeepAlive(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		properties []byte
		before     time.Duration // a ping is not due yet
		then       time.Duration // a ping is due
	}{
		"own keep-alive":    {nil, 29 * time.Second, 31 * time.Second},
		"Server Keep Alive": {[]byte{packets.PropServerKeepAlive, 0, 4}, time.Second, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				conn, broker := connected(t, c.properties...)
				conn.tend(time.Now().Add(c.before))
				go conn.tend(time.Now().Add(c.then))
				p, err := packets.ReadPacket(broker)
				require.NoError(t, err)
				assert.Equal(t, "PINGREQ", p.PacketType())
				go func() { _, _ = io.Copy(io.Discard, broker) }()
				conn.close()
			})
		})
	}
}

// At QoS 0 no answer is due, and writes to a stalled broker go into the kernel's buffers.
func TestASilentBrokerEndsTheConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conn, broker := connected(t)
		go func() { _, _ = io.Copy(io.Discard, broker) }()
		publish := func() { conn.publish(mqtt.Publish{Topic: []byte("t")}, func(byte, error) {}) }
		for range 60 {
			time.Sleep(time.Second)
			publish()
			conn.tend(time.Now())
		}
		assert.False(t, conn.isOver(), "the ping comes after a minute")
		for range 8 {
			time.Sleep(time.Second)
			publish()
			conn.tend(time.Now())
		}
		assert.True(t, conn.isOver())
		assert.EqualError(t, conn.end(nil), "no PINGRESP within 5s")
	})
}

func TestAPingThatIsAnsweredKeepsTheConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conn, broker := connected(t)
		go func() {
			for {
				if _, err := packets.ReadPacket(broker); err != nil {
					return
				}
				_, _ = broker.Write([]byte{packets.PINGRESP << 4, 0})
			}
		}()
		ended := make(chan error, 1)
		go func() { ended <- conn.read() }()
		for range 300 {
			time.Sleep(time.Second)
			conn.tend(time.Now())
			synctest.Wait()
		}
		assert.False(t, conn.isOver())
		conn.close()
		assert.ErrorIs(t, <-ended, net.ErrClosed)
	})
}

// Regression: a connection that the broker did not read held up the look at all others, and each close took its
// time-out. net.Pipe has no buffer, so a write waits for the broker, and the time of the bubble shows each wait.
func TestAConnectionThatIsNotReadHoldsUpNobody(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(c *publisher, done func(byte, error)){
		"publishes at QoS 1": func(c *publisher, done func(byte, error)) {
			go c.publish(mqtt.Publish{Topic: []byte("t"), QoS: 1}, done)
		},
		"publishes at QoS 0": func(c *publisher, done func(byte, error)) {
			go c.publish(mqtt.Publish{Topic: []byte("t")}, done)
		},
		"pings": func(c *publisher, _ func(byte, error)) {
			c.tend(time.Now().Add(keepAlive * time.Second))
		},
	} {
		for _, end := range []string{"close", "time-out", "the broker reads"} {
			t.Run(name+", "+end, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					c, broker := connected(t)
					outcomes := make(chan error, 2)
					began := time.Now()
					begin(c, func(_ byte, err error) { outcomes <- err })
					synctest.Wait()
					c.tend(time.Now())
					assert.False(t, c.isOver())
					go func() { _ = c.read() }()
					if end == "the broker reads" {
						p, err := packets.ReadPacket(broker)
						require.NoError(t, err)
						does := map[string]string{"PUBLISH": "publishes", "PINGREQ": "pings"}
						assert.Contains(t, name, does[p.PacketType()])
						synctest.Wait()
						assert.False(t, c.isOver())
					}
					if end == "time-out" {
						time.Sleep(c.timeout + time.Second)
						c.tend(time.Now())
						assert.True(t, c.isOver())
						began = time.Now()
					}
					go func() { _, _ = io.Copy(io.Discard, broker) }()
					c.close()
					synctest.Wait()
					assert.Zero(t, time.Since(began))
					if name != "pings" {
						require.Len(t, outcomes, 1)
					}
				})
			})
		}
	}
}

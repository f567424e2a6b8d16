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

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqttwire"
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
			_, _ = theirs.Write(append([]byte{packets.CONNACK << 4, byte(3 + len(properties)), 0, 0, byte(len(properties))}, properties...))
		}
	}()
	hello := mqttwire.Connect{Version: mqttwire.Version5, ClientID: "one", KeepAlive: keepAlive, Clean: true}
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
		publish := func() { conn.publish(mqttwire.Publish{Topic: []byte("t")}, func(byte, error) {}) }
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

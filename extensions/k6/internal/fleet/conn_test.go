package fleet

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
)

// connected is a connection, and the broker's end of it. properties are those of CONNACK.
func connected(t *testing.T, properties ...byte) (*Conn, net.Conn) {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = theirs.Close() })
	go func() {
		if _, err := packets.ReadPacket(theirs); err == nil {
			_, _ = theirs.Write(append([]byte{packets.CONNACK << 4, byte(3 + len(properties)), 0, 0, byte(len(properties))}, properties...))
		}
	}()
	c, err := Connect(t.Context(), Options{
		URL: "mqtt://broker", ClientID: "one", Timeout: 5 * time.Second,
		Dial: func(context.Context, string, string) (net.Conn, error) { return ours, nil },
	})
	require.NoError(t, err)
	return c, theirs
}

func TestItPingsAsOftenAsTheBrokerWants(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		properties []byte
		before     time.Duration // it is not due yet
		then       time.Duration // it is
	}{
		"as the client said": {nil, 29 * time.Second, 31 * time.Second},
		"Server Keep Alive":  {[]byte{packets.PropServerKeepAlive, 0, 4}, time.Second, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				conn, broker := connected(t, c.properties...)
				conn.Tend(time.Now().Add(c.before))
				go conn.Tend(time.Now().Add(c.then))
				p, err := packets.ReadPacket(broker)
				require.NoError(t, err)
				assert.Equal(t, "PINGREQ", p.PacketType())
				go func() { _, _ = io.Copy(io.Discard, broker) }()
				conn.Close()
			})
		})
	}
}

// At QoS 0 nothing is waited for, and what is written to a broker that stands still goes into the kernel's buffers.
func TestABrokerThatIsSilentIsNotHeldForAConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conn, broker := connected(t)
		go func() { _, _ = io.Copy(io.Discard, broker) }()
		publish := func() { conn.Publish(mqttwire.Publish{Topic: []byte("t")}, func(byte, error) {}) }
		for range 60 {
			time.Sleep(time.Second)
			publish()
			conn.Tend(time.Now())
		}
		assert.False(t, conn.Ended(), "it is asked after a minute")
		for range 8 {
			time.Sleep(time.Second)
			publish()
			conn.Tend(time.Now())
		}
		assert.True(t, conn.Ended())
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
		go func() { ended <- conn.Read() }()
		for range 300 {
			time.Sleep(time.Second)
			conn.Tend(time.Now())
			synctest.Wait()
		}
		assert.False(t, conn.Ended())
		conn.Close()
		assert.ErrorIs(t, <-ended, net.ErrClosed)
	})
}

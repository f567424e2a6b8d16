package mqtt

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Regression: a message that waited in the socket arrived when it was read, so the reader's
// lateness counted as latency. TLS and WebSocket are covered too.
func TestAnUnreadMessageArrivesWhenTheKernelHasIt(t *testing.T) {
	t.Parallel()
	m := startMosquitto(t)
	publish := publisher(t, m)
	for _, scheme := range schemes {
		var tcp *net.TCPConn
		c := subscribed(t, SubscriberOptions{
			URL: m.url(scheme), TLS: m.tls,
			Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
				if err == nil {
					tcp = conn.(*net.TCPConn)
				}
				return conn, err
			},
		}, 0, scheme)
		var published, there time.Time
		result := reading(c, func(got []seen) {
			if last := got[len(got)-1]; last.Payload == "waits" && last.Kernel {
				go c.Close()
				return
			} // the kernel starts to stamp with a delay
			published = time.Now()
			publish(scheme, "waits", 0)
			for unread(t, tcp) == 0 {
				time.Sleep(time.Millisecond)
			}
			there = time.Now()
			time.Sleep(20 * time.Millisecond)
		})
		began := time.Now()
		publish(scheme, "first", 0)
		got, err := result()
		require.ErrorIs(t, err, net.ErrClosed)
		last := got[len(got)-1]
		assert.False(t, last.At.Before(published), scheme)
		assert.False(t, last.At.After(there), scheme)
		if scheme == "mqtt" {
			assert.Zero(t, last.Waited, "the kernel's stamp is exact")
		} else { // a layer between buffers: a wait is known up to the time since it was empty
			assert.LessOrEqual(t, last.Waited, there.Sub(began), scheme)
		}
	}
}

// unread returns the number of bytes that wait in a socket.
func unread(t *testing.T, conn *net.TCPConn) (n int) {
	raw, err := conn.SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.SIOCINQ) }))
	require.NoError(t, err)
	return n
}

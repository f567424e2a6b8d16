package receiver

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// What a reader left in its socket arrived when it read it, and its lateness was in the latency. Below TLS and WebSocket it is so too.
func TestWhatAReaderLeavesUnreadArrivesWhenTheKernelHasIt(t *testing.T) {
	t.Parallel()
	m := startMosquitto(t)
	publish := publisher(t, m)
	for _, scheme := range schemes {
		var tcp *net.TCPConn
		c := subscribed(t, Options{
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
			} // the kernel begins to stamp a little after it was asked to
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
			assert.Zero(t, last.Waited, "all of its time until then was the pipeline's")
		} else { // a layer between hands on what it has, and how long that was there is known to within the time since it was empty
			assert.LessOrEqual(t, last.Waited, there.Sub(began), scheme)
		}
	}
}

// unread is how many bytes lie in a socket.
func unread(t *testing.T, conn *net.TCPConn) (n int) {
	raw, err := conn.SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.SIOCINQ) }))
	require.NoError(t, err)
	return n
}

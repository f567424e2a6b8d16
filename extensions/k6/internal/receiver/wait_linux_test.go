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

// A reader that is held back while bytes lie in its socket tells for how long, below TLS and WebSocket too.
func TestAReaderThatIsHeldBackTellsHowLongBytesWaited(t *testing.T) {
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
		var lay time.Duration
		result := reading(c, func(got []seen) {
			if len(got) > 1 {
				go c.Close()
				return
			}
			publish(scheme, "waits", 0)
			for unread(t, tcp) == 0 {
				time.Sleep(time.Millisecond)
			}
			began := time.Now()
			time.Sleep(50 * time.Millisecond)
			lay = time.Since(began)
		})
		publish(scheme, "first", 0)
		got, err := result()
		require.ErrorIs(t, err, net.ErrClosed)
		require.Equal(t, []string{"first", "waits"}, payloads(got))
		assert.GreaterOrEqual(t, lay, 50*time.Millisecond)
		assert.GreaterOrEqual(t, got[1].Waited, lay, scheme)
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

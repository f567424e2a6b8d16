package socket

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/lib/netext"
	"go.k6.io/k6/v2/lib/types"
)

// last returns the arrival of a message of n bytes, all that the last Read returned.
func last(c *Conn, n int) Arrival { return c.Arrivals([]int{n}, nil)[0] }

func TestWithoutTCPAMessageArrivesWhenItIsRead(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = ours.Close() })
	c := New(ours, false)
	c.Watch()
	began := time.Now()
	go func() { _, _ = theirs.Write([]byte("x")) }()
	_, err := c.Read(make([]byte, 8))
	require.NoError(t, err)
	got := last(c, 1)
	assert.Equal(t, Arrival{At: got.At, Waited: Unknown}, got)
	assert.True(t, got.At.After(began))
}

func TestBytesFromTheBufferHaveTheTimeOfTheReadThatFilledIt(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = ours.Close() })
	c := New(ours, true)
	c.Watch()
	go func() {
		_, _ = theirs.Write([]byte("abcd"))
		_, _ = theirs.Write([]byte("e"))
		_ = theirs.Close()
	}()
	var got []byte
	var times []time.Time
	for p := make([]byte, 2); ; {
		n, err := c.Read(p)
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
		got, times = append(got, p[:n]...), append(times, last(c, n).At)
	}
	assert.Equal(t, "abcde", string(got))
	require.Len(t, times, 3)
	assert.Equal(t, times[0], times[1])
	assert.True(t, times[2].After(times[1]))
}

// k6's dialer counts a connection's bytes for data_received and data_sent.
func TestK6sCountOfBytesStaysRight(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			_, _ = conn.Write(bytes.Repeat([]byte("x"), 1000))
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
		}
	}()
	dialer := netext.NewDialer(net.Dialer{}, netext.NewResolver(net.LookupIP, 0, types.DNSfirst, types.DNSpreferIPv4))
	conn, err := dialer.DialContext(context.Background(), "tcp", listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	c := New(conn, true)
	c.Watch()
	_, err = io.ReadFull(c, make([]byte, 1000))
	require.NoError(t, err)
	_, err = c.Write(make([]byte, 300))
	require.NoError(t, err)
	assert.Equal(t, []int64{1000, 300}, []int64{dialer.BytesRead, dialer.BytesWritten})
}

func TestErrorsAreThoseOfNet(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	c := New(conn, false)
	c.Watch()
	ended := make(chan error)
	go func() { _, err := c.Read(make([]byte, 1)); ended <- err }()
	require.NoError(t, c.Close())
	err = <-ended
	require.ErrorIs(t, err, net.ErrClosed)
	assert.Regexp(t, `^read tcp .*: use of closed network connection$`, err.Error())
}

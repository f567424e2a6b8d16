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

func TestOnlyTCPTellsItsWait(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = ours.Close() })
	c := New(ours, false)
	c.Watch(func() int64 { return 7 })
	go func() { _, _ = theirs.Write([]byte("x")) }()
	_, err := c.Read(make([]byte, 8))
	require.NoError(t, err)
	at, waited := c.Last()
	assert.Equal(t, int64(7), at)
	assert.Equal(t, Unknown, waited)
}

func TestBytesFromTheBufferHaveTheTimeOfTheReadThatFilledIt(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = ours.Close() })
	c := New(ours, true)
	now := int64(0)
	c.Watch(func() int64 { now++; return now })
	go func() {
		_, _ = theirs.Write([]byte("abcd"))
		_, _ = theirs.Write([]byte("e"))
		_ = theirs.Close()
	}()
	var got []byte
	var times []int64
	for p := make([]byte, 2); ; {
		n, err := c.Read(p)
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
		at, _ := c.Last()
		got, times = append(got, p[:n]...), append(times, at)
	}
	assert.Equal(t, "abcde", string(got))
	assert.Equal(t, []int64{2, 2, 3}, times) // 1 was Watch
}

// k6 counts the bytes of a connection from its dialer for data_received and data_sent.
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
	c.Watch(func() int64 { return time.Now().UnixMicro() })
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
	c.Watch(func() int64 { return 0 })
	ended := make(chan error)
	go func() { _, err := c.Read(make([]byte, 1)); ended <- err }()
	require.NoError(t, c.Close())
	err = <-ended
	require.ErrorIs(t, err, net.ErrClosed)
	assert.Regexp(t, `^read tcp .*: use of closed network connection$`, err.Error())
}

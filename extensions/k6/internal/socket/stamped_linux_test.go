package socket

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// accepting listens, and returns what makes Stamped connections of those that it accepts.
func accepting(t testing.TB) (net.Listener, *Accepting) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return listener, Accept(listener, look)
}

// called dials, sends a message in pieces, and reads it when it is accepted after a while.
func called(t testing.TB, l net.Listener, a *Accepting, pieces int) (sent []written, got *Stamped, readAt time.Time) {
	t.Helper()
	conn, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	for range pieces {
		sent = append(sent, write(t, conn))
		time.Sleep(5 * time.Millisecond)
	}
	accepted, err := l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = accepted.Close() })
	readAt = time.Now()
	got = a.Stamped(accepted)
	for n := 0; n < pieces*size; {
		some, err := got.Read(make([]byte, readerBuffer))
		require.NoError(t, err)
		n += some
	}
	return sent, got, readAt
}

// Regression: what came before its connection was accepted had the time of the read, and a wait of 0.
func TestBytesThatWaitedToBeAcceptedHaveTheirOwnStamp(t *testing.T) {
	t.Parallel()
	l, a := accepting(t)
	for known, round := 0, 0; known < 10; round++ {
		require.Less(t, round, 1000)
		sent, got, readAt := called(t, l, a, 1+round%3)
		last, at := sent[len(sent)-1], got.Next()
		if !at.Kernel { // it begins to stamp with a delay
			assert.Equal(t, Unknown, at.Waited)
			continue
		}
		known++
		assert.False(t, at.At.Before(last.before))
		assert.False(t, at.At.After(last.after.Add(slack)))
		assert.True(t, at.At.Before(readAt))
		assert.Zero(t, at.Waited, "a caller waits for its answer, so the last byte is its message's")
		assert.Equal(t, Unknown, got.Next().Waited, "another message of the same read")
	}
}

// Regression: without a stamp the wait of a new connection was the time since it was accepted.
func TestWithoutAStampTheWaitOfANewConnectionIsUnknown(t *testing.T) {
	t.Parallel()
	l, a := accepting(t)
	a.before = time.Now().Add(time.Hour) // so that no stamp can be used
	_, got, readAt := called(t, l, a, 1)
	at := got.Next()
	assert.Equal(t, [2]any{false, Unknown}, [2]any{at.Kernel, at.Waited})
	assert.False(t, at.At.Before(readAt))
}

func TestTheClocksOfAcceptedConnectionsAreComparedWithAnEarlierMoment(t *testing.T) {
	t.Parallel()
	l, a := accepting(t)
	first := a.latest
	a.latest = first.Add(-2 * comparedFor)
	called(t, l, a, 1)
	assert.Equal(t, first.Add(-2*comparedFor), a.before)
	assert.False(t, a.latest.Before(first))
}

package socket

import (
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pair returns both ends of a TCP connection over the loopback.
func pair(t testing.TB) (ours, theirs *net.TCPConn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	peer, err := listener.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = peer.Close() })
	return conn.(*net.TCPConn), peer.(*net.TCPConn)
}

func watched(t testing.TB, conn net.Conn) *Conn {
	t.Helper()
	c := New(conn, false)
	c.Watch(func() int64 { return time.Now().UnixMicro() })
	return c
}

// A read tells the stamp of the last segment only, and here that one is new; what counts is how long the first waited.
func TestAReaderThatIsAwayWhileMessagesKeepComingTellsForHowLong(t *testing.T) {
	t.Parallel()
	ours, theirs := pair(t)
	c := watched(t, ours)
	buf := make([]byte, bufferSize)
	_, err := theirs.Write([]byte("first"))
	require.NoError(t, err)
	_, err = c.Read(buf)
	require.NoError(t, err)

	left := time.Now()
	for time.Since(left) < 50*time.Millisecond {
		_, err = theirs.Write(make([]byte, 200))
		require.NoError(t, err)
		time.Sleep(time.Millisecond)
	}
	away := time.Since(left)
	n, err := c.Read(buf)
	require.NoError(t, err)
	require.NotZero(t, n)
	_, waited := c.Last()
	assert.GreaterOrEqual(t, waited, away)
}

// idle brings a connection to where its reader waits at an empty socket.
func idle(t *testing.T, q *queue) {
	t.Helper()
	q.p = make([]byte, bufferSize)
	require.NoError(t, q.raw.Control(func(fd uintptr) { require.False(t, q.readOnce(fd), "there was something to read") }))
}

func TestAReaderThatIsNotWokenInTimeTellsForHowLongBytesWaited(t *testing.T) {
	t.Parallel()
	ours, theirs := pair(t)
	q := newWaiter(ours).(*queue)
	for known := 0; known < 5; { // the kernel begins to stamp a little after it was asked to
		idle(t, q)
		_, err := theirs.Write([]byte("x"))
		require.NoError(t, err)
		written := time.Now()
		time.Sleep(3 * time.Millisecond)
		lay := time.Since(written)
		require.NoError(t, q.raw.Control(func(fd uintptr) { require.True(t, q.readOnce(fd)) }))
		require.Equal(t, 1, q.n)
		if q.waited != Unknown {
			known++
			// The kernel's clock is the wall's, which may be slewed against the monotonic one.
			assert.GreaterOrEqual(t, q.waited, lay*99/100)
		}
	}
}

// At a message a ms, up to 17 of them bear the stamp of the last: the kernel alone would tell next to nothing.
func TestAReaderThatIsNotWokenForLongTellsItWhateverTheKernelStamped(t *testing.T) {
	t.Parallel()
	ours, theirs := pair(t)
	q := newWaiter(ours).(*queue)
	idle(t, q)
	slept := time.Now()
	for time.Since(slept) < 50*time.Millisecond {
		_, err := theirs.Write(make([]byte, 200))
		require.NoError(t, err)
		time.Sleep(time.Millisecond)
	}
	overdue := time.Since(slept) - look
	require.NoError(t, q.raw.Control(func(fd uintptr) { require.True(t, q.readOnce(fd)) }))
	assert.GreaterOrEqual(t, q.waited, overdue)
}

func TestAReaderWithASmallBufferTellsTheWaitOfWhatItReads(t *testing.T) {
	t.Parallel()
	ours, theirs := pair(t)
	c := watched(t, ours)
	_, err := theirs.Write(make([]byte, 100))
	require.NoError(t, err)
	written := time.Now()
	time.Sleep(50 * time.Millisecond)
	lay := time.Since(written)
	for range 10 {
		_, err = c.Read(make([]byte, 10))
		require.NoError(t, err)
		if _, waited := c.Last(); waited != Unknown {
			assert.GreaterOrEqual(t, waited, lay*99/100)
		}
	}
}

func TestTheWaitOfARead(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	at := time.Now()
	for name, c := range map[string]struct {
		empty      time.Duration // since the socket was seen empty
		stamped    time.Duration // since the kernel's stamp; 0: none
		idle, full bool
		want       time.Duration
	}{
		"found bytes on coming back":                     {empty: 30 * ms, want: 30 * ms},
		"found bytes on coming back, stamp or none":      {empty: 30 * ms, stamped: ms, want: 30 * ms},
		"woken at once":                                  {empty: 4 * ms, stamped: ms, idle: true, want: ms},
		"woken late, stamped":                            {empty: 80 * ms, stamped: 79 * ms, idle: true, want: 79 * ms},
		"woken late, stamp of a later segment":           {empty: 80 * ms, stamped: ms, idle: true, want: 75 * ms},
		"woken late, no stamp":                           {empty: 80 * ms, idle: true, want: 75 * ms},
		"woken, no stamp":                                {empty: 4 * ms, idle: true, want: Unknown},
		"wall clock set back":                            {empty: 4 * ms, stamped: -time.Hour, idle: true, want: 0},
		"wall clock set forward":                         {empty: 4 * ms, stamped: time.Hour, idle: true, want: 4 * ms},
		"never empty for a minute, but read as it comes": {empty: time.Minute, stamped: 2 * ms, full: true, want: 2 * ms},
		"never empty, no stamp":                          {empty: time.Minute, full: true, want: Unknown},
	} {
		stamp := int64(0)
		if c.stamped != 0 {
			stamp = at.Add(-c.stamped).UnixNano()
		}
		assert.Equal(t, c.want, measured(at, at.Add(-c.empty), stamp, c.idle, c.full), name)
	}
}

func TestAnIdleSocketIsLookedAt(t *testing.T) {
	t.Parallel()
	for looked := false; !looked; { // a machine that stands still for so long may not look
		ours, theirs := pair(t)
		c := watched(t, ours)
		began := time.Now()
		go func() {
			time.Sleep(10 * look)
			_ = theirs.CloseWrite()
		}()
		_, err := c.Read(make([]byte, 1))
		require.EqualError(t, err, "EOF") // not the deadline
		looked = c.waiter.(*queue).emptyAt.Sub(began) > look
	}
}

// BenchmarkRead gives what a read costs here against one of net, as a ratio from one run: bytes that are there already
// (away), and those that the reader has to wait for (idle), which cost one system call more. Writing them is included.
func BenchmarkRead(b *testing.B) {
	for _, waits := range []bool{false, true} {
		b.Run(map[bool]string{false: "away", true: "idle"}[waits], func(b *testing.B) {
			plain, plainPeer := pair(b)
			ours, peer := pair(b)
			conn := watched(b, ours)
			message, buf := make([]byte, 200), make([]byte, bufferSize)
			var spent [2][]time.Duration
			b.ReportAllocs()
			for b.Loop() { // in turns, since other work on the machine changes the pace from one moment to the next
				for i, c := range []struct {
					conn io.Reader
					peer *net.TCPConn
				}{{plain, plainPeer}, {conn, peer}} {
					began := time.Now()
					for range 100 {
						if waits {
							go func() { _, _ = c.peer.Write(message) }()
						} else if _, err := c.peer.Write(message); err != nil {
							b.Fatal(err)
						}
						if _, err := c.conn.Read(buf); err != nil {
							b.Fatal(err)
						}
					}
					spent[i] = append(spent[i], time.Since(began)/100)
				}
			}
			for _, s := range spent {
				slices.Sort(s)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(spent[0][len(spent[0])/2]), "ns/net")
			b.ReportMetric(float64(spent[1][len(spent[1])/2]), "ns/socket")
			b.ReportMetric(float64(spent[1][len(spent[1])/2])/float64(spent[0][len(spent[0])/2]), "ratio")
		})
	}
}

func TestAReadAllocatesNothing(t *testing.T) {
	ours, theirs := pair(t)
	c := New(ours, false) // not watched: a look takes some, but not for a read
	buf, message := make([]byte, bufferSize), make([]byte, 200)
	turns, turn := make(chan struct{}), 0
	defer close(turns)
	go func() {
		for range turns {
			_, _ = theirs.Write(message)
		}
	}()
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		if turn++; turn%2 == 0 {
			_, _ = theirs.Write(message)
		} else {
			turns <- struct{}{}
		}
		_, _ = c.Read(buf)
		c.Last()
	}))
}

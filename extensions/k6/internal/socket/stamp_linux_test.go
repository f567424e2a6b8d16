package socket

import (
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// pair returns both ends of a TCP connection over loopback.
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
	c.Watch()
	return c
}

// written brackets a write: the kernel got the message between the two times.
type written struct{ before, after time.Time }

const size = 200 // bytes of a message

func write(t testing.TB, conn net.Conn) (w written) {
	t.Helper()
	w.before = time.Now()
	_, err := conn.Write(make([]byte, size))
	require.NoError(t, err)
	w.after = time.Now()
	return w
}

// messages reads once and returns the arrival of each message.
func messages(t testing.TB, c *Conn) []Arrival {
	t.Helper()
	n, err := c.Read(make([]byte, bufferSize))
	require.NoError(t, err)
	require.Zero(t, n%size)
	var ends []int
	for end := size; end <= n; end += size {
		ends = append(ends, end)
	}
	return c.Arrivals(ends, nil)
}

// unread returns the number of bytes that wait in the socket.
func unread(t testing.TB, c *Conn) (n int) {
	require.NoError(t, c.waiter.(*stampedConn).raw.Control(func(fd uintptr) {
		var err error
		n, err = unix.IoctlGetInt(int(fd), unix.SIOCINQ)
		require.NoError(t, err)
	}))
	return n
}

// stamping returns both ends of a connection once the kernel stamps it. That starts with a delay.
func stamping(t testing.TB) (c *Conn, theirs net.Conn) {
	t.Helper()
	ours, theirs := pair(t)
	c = watched(t, ours)
	for stamped := false; !stamped; {
		write(t, theirs)
		stamped = messages(t, c)[0].Kernel
	}
	return c, theirs
}

// slack is how late a mapped kernel stamp may be: the two clocks are read one after the other.
const slack = near

func TestAMessageArrivesWhenTheKernelHasIt(t *testing.T) {
	t.Parallel()
	c, theirs := stamping(t)
	for known := 0; known < 20; {
		w := write(t, theirs)
		time.Sleep(3 * time.Millisecond)
		if a := messages(t, c)[0]; a.Kernel {
			known++
			assert.False(t, a.At.Before(w.before))
			assert.False(t, a.At.After(w.after.Add(slack)))
			assert.Zero(t, a.Waited)
		}
	}
}

// Regression: all messages of a read got the read's time and the longest wait.
func TestEachMessageOfAReadHasItsOwnArrival(t *testing.T) {
	t.Parallel()
	c, theirs := stamping(t)
	own := 0
	for round := 0; own < 20; round++ { // the kernel merges the segments of some rounds
		require.Less(t, round, 1000)
		var all []written
		for range 5 {
			all = append(all, write(t, theirs))
			time.Sleep(time.Millisecond)
		}
		for unread(t, c) < len(all)*size {
			time.Sleep(time.Millisecond)
		}
		complete := time.Now()
		got := messages(t, c)
		require.Len(t, got, len(all))
		for i, a := range got {
			assert.False(t, a.At.Before(all[i].before), i)
			assert.False(t, a.At.After(time.Now()), i)
			if i > 0 {
				assert.False(t, a.At.Before(got[i-1].At), i)
			}
			if !a.Kernel {
				continue
			}
			assert.False(t, a.At.After(complete.Add(slack)), i)
			if i < len(all)-1 && !a.At.After(all[i].after.Add(slack)) {
				own++
			}
		}
		if last := got[len(got)-1]; last.Kernel {
			assert.Zero(t, last.Waited)
		}
	}
}

func TestAMessageThatSpansReadsHasTheStampOfItsLastByte(t *testing.T) {
	t.Parallel()
	c, theirs := stamping(t)
	for known := 0; known < 5; {
		write(t, theirs)
		_, err := c.Read(make([]byte, bufferSize))
		require.NoError(t, err)
		require.Empty(t, c.Arrivals(nil, nil), "no message ends in this read")
		w := write(t, theirs)
		n, err := c.Read(make([]byte, bufferSize))
		require.NoError(t, err)
		if a := last(c, n); a.Kernel {
			known++
			assert.False(t, a.At.Before(w.before))
		}
	}
}

// Regression: TLS and WebSocket pass on one message at a time. Each had a wait of 0, although all
// share the stamp of the last.
func TestAMessageFromTheBufferMayHaveWaitedSinceItsReadCouldBegin(t *testing.T) {
	t.Parallel()
	stamping(t) // waits until the kernel stamps
	ours, theirs := pair(t)
	c := New(ours, true)
	c.Watch()
	for known := 0; known < 5; {
		var all []written
		for range 5 {
			all = append(all, write(t, theirs))
			time.Sleep(time.Millisecond)
		}
		for unread(t, c) < len(all)*size {
			time.Sleep(time.Millisecond)
		}
		for i, w := range all {
			n, err := c.Read(make([]byte, size))
			require.NoError(t, err)
			require.Equal(t, size, n)
			if a := last(c, n); a.Kernel {
				known++
				assert.False(t, a.At.Before(w.before), i)
				assert.False(t, a.At.Add(-a.Waited).After(w.after.Add(slack)), i)
			}
		}
	}
}

func TestBytesAreReadOnceWhetherTheirArrivalIsAskedForOrNot(t *testing.T) {
	t.Parallel()
	ours, theirs := pair(t)
	c := watched(t, ours)
	const sent = "the kernel keeps what is read until its arrival is asked for, or the next is read"
	go func() {
		for _, word := range []byte(sent) {
			_, _ = theirs.Write([]byte{word})
		}
		_ = theirs.Close()
	}()
	var got []byte
	for i := 0; ; i++ {
		p := make([]byte, 1+i%7)
		n, err := c.Read(p)
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
		got = append(got, p[:n]...)
		switch i % 3 {
		case 0:
			c.Arrivals([]int{n}, nil)
		case 1:
			c.Arrivals([]int{1}, nil)
		}
	}
	assert.Equal(t, sent, string(got))
}

// Regression: one message ahead of a segment with 3,000 cost 3,000 system calls, 2.5 ms.
func TestMessagesOfTheLastSegmentAreTakenAtOnce(t *testing.T) {
	t.Parallel()
	const us = int64(time.Microsecond)
	for name, c := range map[string]struct {
		stamps []int64 // of messages of 100 bytes
		rest   int     // bytes after the last message
		calls  []int
		want   []int64
	}{
		"all at once":               {[]int64{0, 0, 0, 0}, 0, []int{100, 300}, []int64{0, 0, 0, 0}},
		"all at once, last partial": {[]int64{0, 0}, 7, []int{100, 107}, []int64{0, 0}},
		"one segment each":          {[]int64{0, 100 * us, 200 * us}, 0, []int{100, 100, 100}, []int64{0, 100 * us, 200 * us}},
		"one before a burst": {[]int64{0, 100 * us, 100 * us, 100 * us, 100 * us}, 0, []int{100, 100, 300},
			[]int64{0, 100 * us, 100 * us, 100 * us, 100 * us}},
		"two bursts": {[]int64{0, 0, 100 * us, 120 * us, 130 * us}, 7, []int{100, 100, 100, 207},
			[]int64{0, 0, 100 * us, 130 * us, 130 * us}},
	} {
		n := len(c.stamps)
		q := &stampedConn{pending: 100*n + c.rest, last: read{stamp: us + c.stamps[n-1]}}
		for i := range c.stamps {
			q.ends, q.stamps = append(q.ends, 100*(i+1)), append(q.stamps, q.last.stamp)
		}
		var calls []int
		taken := 0
		q.takeBy(func(bytes int) int64 {
			calls, taken = append(calls, bytes), taken+bytes
			return us + c.stamps[min(taken/100, n)-1]
		})
		for i := range q.stamps {
			q.stamps[i] -= us
		}
		assert.Equal(t, c.calls, calls, name)
		assert.Equal(t, c.want, q.stamps, name)
		assert.Zero(t, q.pending, name)
	}
}

func TestWaitOfEachMessage(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	at := time.Now()
	ago := func(d time.Duration) time.Time { return at.Add(-d) }
	stamp := func(d time.Duration) int64 { return ago(d).UnixNano() }
	kernel := func(d, waited time.Duration) Arrival { return Arrival{ago(d), true, waited} }
	byRead := func(waited time.Duration) Arrival { return Arrival{at, false, waited} }
	away := readAfter(at, 40*ms)
	waiting, late := away, away
	waiting.late, late.late = time.Time{}, ago(35*ms)
	unstamped, stepped := away, away
	unstamped.stamp, stepped.believed = 0, false
	idle := waiting
	idle.stamp = 0
	accepted, unstampedToo := away, unstamped
	accepted.unseen, unstampedToo.unseen = true, true
	for name, c := range map[string]struct {
		read   read
		stamps []time.Duration // how long ago; messages of 100 bytes
		before group
		floor  time.Time
		want   []Arrival
	}{
		"a stamp each": {away, []time.Duration{30 * ms, 20 * ms, 0}, group{}, time.Time{},
			[]Arrival{kernel(30*ms, 0), kernel(20*ms, 0), kernel(0, 0)}},
		"two are merged": {away, []time.Duration{30 * ms, 20 * ms, 20 * ms}, group{}, time.Time{},
			[]Arrival{kernel(30*ms, 0), kernel(20*ms, 5*ms), kernel(20*ms, 0)}},
		"all are merged": {away, []time.Duration{0, 0, 0, 0}, group{}, time.Time{},
			[]Arrival{kernel(0, 30*ms), kernel(0, 20*ms), kernel(0, 10*ms), kernel(0, 0)}},
		"merged while the reader waits":   {waiting, []time.Duration{0, 0}, group{}, time.Time{}, []Arrival{kernel(0, 0), kernel(0, 0)}},
		"merged while the reader is late": {late, []time.Duration{ms, ms}, group{}, time.Time{}, []Arrival{kernel(ms, 17*ms), kernel(ms, 0)}},
		"segment read in part": {away, []time.Duration{10 * ms, 10 * ms}, group{stamp(10 * ms), ago(20 * ms), false}, time.Time{},
			[]Arrival{kernel(10*ms, 5*ms), kernel(10*ms, 0)}},
		"no stamp":               {unstamped, []time.Duration{-1, -1}, group{}, time.Time{}, []Arrival{byRead(40 * ms), byRead(20 * ms)}},
		"no stamp, reader waits": {idle, []time.Duration{-1, -1}, group{}, time.Time{}, []Arrival{byRead(Unknown), byRead(Unknown)}},
		// Regression: 0, or the time since the connection was accepted, though they may have come long before.
		"accepted, no stamp": {unstampedToo, []time.Duration{-1, -1}, group{}, time.Time{}, []Arrival{byRead(Unknown), byRead(Unknown)}},
		"accepted, merged":   {accepted, []time.Duration{ms, ms}, group{}, time.Time{}, []Arrival{kernel(ms, Unknown), kernel(ms, 0)}},
		"accepted, a stamp each": {accepted, []time.Duration{30 * ms, 20 * ms, 20 * ms}, group{}, time.Time{},
			[]Arrival{kernel(30*ms, 0), kernel(20*ms, 5*ms), kernel(20*ms, 0)}},
		"wall clock stepped":                  {stepped, []time.Duration{ms, ms}, group{}, time.Time{}, []Arrival{byRead(40 * ms), byRead(20 * ms)}},
		"stamped before the last empty check": {away, []time.Duration{41 * ms, ms}, group{}, time.Time{}, []Arrival{byRead(40 * ms), kernel(ms, 0)}},
		"stamped after the read":              {away, []time.Duration{ms, -2 * ms}, group{}, time.Time{}, []Arrival{kernel(ms, 0), byRead(20 * ms)}},
		"overtaken by another segment":        {away, []time.Duration{30 * ms, 10 * ms}, group{}, ago(20 * ms), []Arrival{byRead(40 * ms), kernel(10*ms, 0)}},
	} {
		q := &stampedConn{held: true, last: c.read, before: c.before, floor: c.floor}
		q.last.size = 100 * len(c.stamps)
		for i, d := range c.stamps {
			q.ends = append(q.ends, 100*(i+1))
			s := stamp(d)
			if d == -1 {
				s = 0
			}
			q.stamps = append(q.stamps, s)
		}
		assert.Equal(t, c.want, q.grouped(nil), name)
	}
}

// readAfter returns a read by a reader that was away for the given time.
func readAfter(at time.Time, away time.Duration) read {
	return read{at: at, stamp: at.UnixNano(), believed: true, empty: at.Add(-away), late: at.Add(-away)}
}

func TestAStepOfTheWallClockIsDetected(t *testing.T) {
	t.Parallel()
	for passed, want := range map[time.Duration]bool{
		time.Second: false, time.Second + time.Microsecond: false, time.Second + time.Millisecond: true, 0: true,
		-time.Hour: true,
	} {
		assert.Equal(t, want, stepped(passed, time.Second), passed)
	}
}

// Regression: a segment that overtook another one has a stamp from before its bytes were readable,
// so its message arrived too early.
func TestTheKernelCountsOvertakenSegments(t *testing.T) {
	t.Parallel()
	ours, _ := pair(t)
	q := newWaiter(ours).(*stampedConn)
	require.NoError(t, q.raw.Control(func(fd uintptr) {
		n, ok := q.countOvertaken(int(fd))
		assert.True(t, ok)
		assert.Zero(t, n)
	}))
}

func TestAnIdleSocketIsChecked(t *testing.T) {
	t.Parallel()
	for looked := false; !looked; { // a stalled machine may miss the check
		ours, theirs := pair(t)
		c := watched(t, ours)
		began := time.Now()
		go func() {
			time.Sleep(10 * look)
			_ = theirs.CloseWrite()
		}()
		_, err := c.Read(make([]byte, 1))
		require.EqualError(t, err, "EOF") // not a deadline error
		looked = c.waiter.(*stampedConn).emptyAt.Sub(began) > look
	}
}

// BenchmarkRead compares a read with one of package net in the same run, as a ratio. away: the
// bytes are there already. idle: the reader waits for them, which costs one more system call.
// Writing is included.
func BenchmarkRead(b *testing.B) {
	for _, waits := range []bool{false, true} {
		b.Run(map[bool]string{false: "away", true: "idle"}[waits], func(b *testing.B) {
			plain, plainPeer := pair(b)
			ours, peer := pair(b)
			conn := watched(b, ours)
			message, buf := make([]byte, 200), make([]byte, bufferSize)
			ends, arrivals := make([]int, 0, 1), make([]Arrival, 0, 1)
			var spent [2][]time.Duration
			b.ReportAllocs()
			for b.Loop() { // in turns, since other load on the machine varies
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
						n, err := c.conn.Read(buf)
						if err != nil {
							b.Fatal(err)
						}
						if ours, ok := c.conn.(*Conn); ok {
							arrivals = ours.Arrivals(append(ends[:0], n), arrivals[:0])
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
	c := New(ours, false)
	c.Watch()
	require.NoError(t, c.SetReadDeadline(time.Time{})) // no idle check: it allocates
	buf, message := make([]byte, bufferSize), make([]byte, 200)
	ends, into := make([]int, 0, 1), make([]Arrival, 0, 1)
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
		n, _ := c.Read(buf)
		into = c.Arrivals(append(ends[:0], n), into[:0])
	}))
}

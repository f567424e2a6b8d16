package socket

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// look is how long an idle reader waits before it checks whether its socket is empty.
	look = 5 * time.Millisecond
	// near is how far apart the stamps of two segments may be for both to get the later one.
	near = 50 * time.Microsecond
)

// queue is a TCP connection that knows when the kernel had its bytes (SO_TIMESTAMPNS).
//
// The kernel stamps each segment when it arrives, and a read reports the stamp of the last segment that it took bytes
// from. So a read first copies the bytes (MSG_PEEK). When the ends of the messages are known, it removes them from the
// queue one by one, and each gets the stamp of the segment with its last byte. While the socket is not read, the kernel
// also merges up to 17 segments with the one before, and all of them have the stamp of the last. That adds at most the
// time since the socket was last seen empty. Spread over the messages with one stamp, it is their wait.
type queue struct {
	*net.TCPConn
	raw   syscall.RawConn
	once  func(fd uintptr) bool // readOnce and takeAll, bound once: a closure a read would be an allocation a read
	taken func(fd uintptr)

	watching, held bool
	look           time.Duration // see the constant
	limit          limit
	emptyAt        time.Time // when the socket was last seen empty
	idle           bool      // the reader has been waiting since then
	full           bool      // the last read filled its buffer, so more was there
	overtaken      uint32    // segments so far that overtook one sent earlier
	floor          time.Time // an overtaken segment has a stamp before this

	p   []byte // of the read under way, and its result
	n   int
	err error

	last    read
	pending int // bytes of it that are still on the queue
	ends    []int
	stamps  []int64
	before  group

	calls
}

// read describes the bytes that were read last.
type read struct {
	at       time.Time
	size     int
	stamp    int64     // the kernel's of their last segment, in ns of the wall clock; 0: none
	believed bool      // stamps of this read may be used
	empty    time.Time // none of them had come by then
	late     time.Time // they may have been unread since then; zero: the reader was waiting for them
}

// group is a run of messages with one stamp.
type group struct {
	stamp int64
	late  time.Time
}

func newWaiter(conn net.Conn) waiter {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	failed := errors.New("not set")
	if err := raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	}); err != nil || failed != nil {
		return nil
	}
	q := &queue{TCPConn: tcp, raw: raw, look: look, emptyAt: time.Now()}
	q.once, q.taken = q.readOnce, q.takeAll
	return q
}

func (q *queue) watch(held bool) {
	q.watching, q.held = true, held
	q.last = read{at: time.Now()}
	_ = q.TCPConn.SetReadDeadline(time.Now().Add(q.look)) // a failure shows in Read
}

func (q *queue) every(look time.Duration) { q.look = look }

// lookAgain sets the time of the next look at an idle socket. It returns os.ErrDeadlineExceeded if the reader's own deadline
// has passed.
func (q *queue) lookAgain() error {
	at, ok := q.limit.next(q.look)
	if !ok {
		return os.ErrDeadlineExceeded
	}
	if err := q.TCPConn.SetReadDeadline(at); err != nil {
		return err
	}
	if _, ok = q.limit.next(q.look); !ok { // set meanwhile, and overwritten here
		return os.ErrDeadlineExceeded
	}
	return nil
}

// SetReadDeadline sets the deadline of the reader. Watching goes on until then.
func (q *queue) SetReadDeadline(t time.Time) error {
	q.limit.set(t)
	if q.watching {
		t, _ = q.limit.next(q.look)
	}
	return q.TCPConn.SetReadDeadline(t)
}

// SetDeadline sets both deadlines of the reader.
func (q *queue) SetDeadline(t time.Time) error {
	return errors.Join(q.SetReadDeadline(t), q.SetWriteDeadline(t))
}

func (q *queue) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	q.p = p
	for {
		q.n, q.err = 0, nil
		err := q.raw.Read(q.once)
		if q.watching && errors.Is(err, os.ErrDeadlineExceeded) {
			// Set when it has passed, not before each read, which would cost a timer for each.
			if err = q.lookAgain(); err == nil {
				continue
			}
		}
		q.p = nil
		if err != nil {
			if e := (*net.OpError)(nil); errors.As(err, &e) {
				e.Op = "read" // not "raw-read"
			}
			return 0, err
		}
		if q.err != nil {
			return 0, q.err
		}
		return q.n, nil
	}
}

// readOnce reads without blocking; false: nothing to read.
func (q *queue) readOnce(fd uintptr) bool {
	if q.pending > 0 {
		q.takeAll(fd)
	}
	before, flags := time.Now(), 0
	if q.held {
		flags = unix.MSG_PEEK
	}
	n, stamp, err := q.receive(int(fd), &q.p[0], len(q.p), flags)
	switch {
	case errors.Is(err, unix.EAGAIN):
		q.emptyAt, q.idle, q.full = before, true, false
		return false
	case err != nil:
		q.err = &net.OpError{
			Op: "read", Net: "tcp", Source: q.LocalAddr(), Addr: q.RemoteAddr(), Err: os.NewSyscallError("read", err),
		}
		return true
	case n == 0:
		q.err = io.EOF
		return true
	}
	q.n = n
	if q.held {
		q.pending = n
	}
	at := time.Now()
	if q.watching {
		q.note(at, n, stamp, int(fd))
	}
	q.idle, q.full = false, n == len(q.p)
	if !q.full {
		q.emptyAt = before
	}
	return true
}

// note records what is known about bytes that have just been read.
func (q *queue) note(at time.Time, n int, stamp int64, fd int) {
	// A segment that overtook another one was stamped before its bytes could be read. All overtaking segments
	// counted so far have a stamp before now, in this read or a later one. Stamps are not used on kernels that
	// do not count them (before 5.4).
	overtaken, counted := q.countOvertaken(fd)
	if overtaken != q.overtaken {
		q.overtaken, q.floor = overtaken, time.Now()
	}
	passed := time.Duration(at.UnixNano() - q.emptyAt.UnixNano())
	q.last = read{
		at: at, size: n, stamp: stamp, believed: counted && !stepped(passed, at.Sub(q.emptyAt)), empty: q.emptyAt, late: q.emptyAt,
	}
	if q.idle {
		q.last.late = time.Time{}
		if at.Sub(q.emptyAt) > 2*q.look { // woken too late, since it looks at least this often
			q.last.late = q.emptyAt.Add(q.look)
		}
	}
}

// stepped reports whether the wall clock was set between two moments, by comparing elapsed wall and monotonic
// time. Stamps are of the wall clock, arrivals of the monotonic one. Both are slewed alike.
func stepped(wall, monotonic time.Duration) bool {
	by := wall - monotonic
	return max(by, -by) > near
}

// arrivals returns the arrivals of messages, and takes the read off the queue.
func (q *queue) arrivals(ends []int, into []Arrival) []Arrival {
	q.ends, q.stamps = ends, q.stamps[:0]
	for range ends {
		q.stamps = append(q.stamps, q.last.stamp)
	}
	if q.pending > 0 {
		_ = q.raw.Control(q.taken) // fails on a closed connection, whose last messages are still delivered
	}
	into = q.grouped(into)
	q.ends = nil
	return into
}

// grouped makes the arrivals of messages, group by group.
func (q *queue) grouped(into []Arrival) []Arrival {
	for from := 0; from < len(q.ends); {
		to := from + 1
		for to < len(q.ends) && q.stamps[to] == q.stamps[from] {
			to++
		}
		into = q.stamped(from, to, into)
		from = to
	}
	return into
}

// takeAll takes the pending bytes off the queue, and notes the stamp of each end.
func (q *queue) takeAll(fd uintptr) {
	q.takeBy(func(n int) int64 { return q.take(int(fd), n) })
}

// takeBy takes the pending bytes by calls of take, which returns the stamp of the last of them. Segments close
// to the last one get its stamp: one call for all of them, not one for each message.
func (q *queue) takeBy(take func(n int) (stamp int64)) {
	taken := 0
	for i, end := range q.ends {
		if i > 0 && q.last.stamp-q.stamps[i-1] <= int64(near) {
			break
		}
		q.stamps[i] = min(q.stamps[i], take(end-taken)) // a segment appended since is not ours
		taken = end
	}
	if taken < q.pending {
		take(q.pending - taken)
	}
	q.pending = 0
}

// take takes bytes off the queue and returns the stamp of the last segment of them; 0 without one.
func (q *queue) take(fd, n int) (stamp int64) {
	for n > 0 {
		took, s, err := q.receive(fd, nil, n, unix.MSG_TRUNC)
		if err != nil || took == 0 {
			return 0
		}
		n, stamp = n-took, s
	}
	return stamp
}

// stamped makes arrivals of the messages [from, to), which have one stamp.
func (q *queue) stamped(from, to int, into []Arrival) []Arrival {
	r, stamp, begin, end := &q.last, q.stamps[from], 0, q.ends[to-1]
	if from > 0 {
		begin = q.ends[from-1]
	}
	at := r.wall(stamp)
	if stamp == 0 || !r.believed || at.After(r.at) || at.Before(r.empty) || at.Before(q.floor) {
		for _, end := range q.ends[from:to] {
			into = append(into, Arrival{At: r.at, Waited: r.wait(begin)})
			begin = end
		}
		return into
	}
	late := r.late
	if stamp == q.before.stamp { // of one segment that two reads took
		late = q.before.late
	} else if before := r.wall(q.before.stamp); !late.IsZero() && before.After(late) {
		late = before
	}
	q.before = group{stamp, late}
	for _, e := range q.ends[from:to] {
		a, share := Arrival{At: at, Kernel: true}, end-e
		if !q.held { // more of the read may come after these messages, and has the same stamp
			share = end - begin
		}
		if !late.IsZero() {
			a.Waited = part(at.Sub(late), share, end-begin)
		}
		into = append(into, a)
	}
	return into
}

// wall converts a stamp to a time.
func (r *read) wall(stamp int64) time.Time { return r.at.Add(-time.Duration(r.at.UnixNano() - stamp)) }

// wait is that of a message that has arrived with its read and begins at this offset of it.
func (r *read) wait(begin int) time.Duration {
	late := r.late
	switch {
	case late.IsZero() && r.stamp == 0:
		return Unknown
	case late.IsZero():
		late = r.empty
	}
	return part(r.at.Sub(late), r.size-begin, r.size)
}

// part is so much of a time, and nothing below zero.
func part(of time.Duration, share, whole int) time.Duration {
	return max(0, time.Duration(float64(of)*float64(share)/float64(whole)))
}

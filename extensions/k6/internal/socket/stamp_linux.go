package socket

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
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

// stampedConn is a TCP connection that knows when the kernel had its bytes (SO_TIMESTAMPNS).
//
// The kernel stamps each segment when it arrives, and a read reports the stamp of the last segment that it took bytes
// from. So a read first copies the bytes (MSG_PEEK). When the ends of the messages are known, it takes them from the
// socket one by one, and each gets the stamp of the segment with its last byte. While the socket is not read, the
// kernel also merges up to 17 segments with the one before, and all of them have the stamp of the last. That adds at
// most the time since the socket was last seen empty. Spread over the messages with one stamp, it is their wait.
type stampedConn struct {
	*net.TCPConn
	raw   syscall.RawConn
	once  func(fd uintptr) bool // readOnce and takeAll, bound once: a closure a read would be an allocation a read
	taken func(fd uintptr)

	watching, held bool
	look           time.Duration // see the constant
	limit          limit
	emptyAt        time.Time // when the socket was last seen empty
	unseen         bool      // it was never seen empty: it was accepted, later than emptyAt
	alone          bool      // a read holds no more than one message
	idle           bool      // the reader has been waiting since then
	full           bool      // the last read filled its buffer, so more was there
	overtaken      uint32    // segments so far that overtook one sent earlier
	floor          time.Time // an overtaken segment has a stamp before this

	p   []byte // the read under way, and its result
	n   int
	err error

	last    read
	pending int // bytes of it that are still in the socket
	ends    []int
	stamps  []int64
	before  group

	calls
}

// limit is the deadline that a reader has set; watching takes over that of the socket.
type limit struct{ at atomic.Pointer[time.Time] }

func (l *limit) set(t time.Time) {
	if t.IsZero() {
		l.at.Store(nil)
		return
	}
	l.at.Store(&t)
}

// next is the next moment to look at an idle socket; ok is false if the reader's deadline has passed.
func (l *limit) next(look time.Duration) (at time.Time, ok bool) {
	now := time.Now()
	at = now.Add(look)
	end := l.at.Load()
	if end == nil {
		return at, true
	}
	if !now.Before(*end) {
		return at, false
	}
	if end.Before(at) {
		at = *end
	}
	return at, true
}

// read describes the bytes that were read last.
type read struct {
	at       time.Time
	size     int
	stamp    int64     // the kernel's of their last segment, in ns of the wall clock; 0: none
	believed bool      // stamps of this read may be used
	empty    time.Time // none of them had come by then
	late     time.Time // they may have been unread since then; zero: the reader was waiting for them
	unseen   bool      // late is long before they can have come
}

// group is a run of messages with one stamp.
type group struct {
	stamp  int64
	late   time.Time
	unseen bool // as in read
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
	c := &stampedConn{TCPConn: tcp, raw: raw, look: look, emptyAt: time.Now()}
	c.once, c.taken = c.readOnce, c.takeAll
	return c
}

func (c *stampedConn) watch(held bool) {
	c.watching, c.held = true, held
	c.last = read{at: time.Now()}
	_ = c.TCPConn.SetReadDeadline(time.Now().Add(c.look)) // a failure shows in Read
}

func (c *stampedConn) every(look time.Duration) { c.look = look }

func (c *stampedConn) accepted(since time.Time) { c.emptyAt, c.unseen, c.alone = since, true, true }

func (c *stampedConn) asked() { c.alone = true }

// stampAccepted makes the kernel stamp the bytes of connections that wait to be accepted: they inherit the option.
func stampAccepted(l net.Listener) {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { // otherwise bytes that come before the accept have no stamps
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	})
}

// lookAgain sets the time of the next look at an idle socket. It returns os.ErrDeadlineExceeded if the reader's own
// deadline has passed.
func (c *stampedConn) lookAgain() error {
	at, ok := c.limit.next(c.look)
	if !ok {
		return os.ErrDeadlineExceeded
	}
	if err := c.TCPConn.SetReadDeadline(at); err != nil {
		return err
	}
	if _, ok = c.limit.next(c.look); !ok { // set meanwhile, and overwritten here
		return os.ErrDeadlineExceeded
	}
	return nil
}

// SetReadDeadline sets the deadline of the reader. Watching goes on until then.
func (c *stampedConn) SetReadDeadline(t time.Time) error {
	c.limit.set(t)
	if c.watching {
		t, _ = c.limit.next(c.look)
	}
	return c.TCPConn.SetReadDeadline(t)
}

// SetDeadline sets both deadlines of the reader.
func (c *stampedConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *stampedConn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c.p = p
	for {
		c.n, c.err = 0, nil
		err := c.raw.Read(c.once)
		if c.watching && errors.Is(err, os.ErrDeadlineExceeded) {
			// Set when it has passed, not before each read, which would cost a timer for each.
			if err = c.lookAgain(); err == nil {
				continue
			}
		}
		c.p = nil
		if err != nil {
			if e := (*net.OpError)(nil); errors.As(err, &e) {
				e.Op = "read" // the name that callers expect, not "raw-read"
			}
			return 0, err
		}
		if c.err != nil {
			return 0, c.err
		}
		return c.n, nil
	}
}

// readOnce reads without blocking; false: nothing to read.
func (c *stampedConn) readOnce(fd uintptr) bool {
	if c.pending > 0 {
		c.takeAll(fd)
	}
	before, flags := time.Now(), 0
	if c.held {
		flags = unix.MSG_PEEK
	}
	n, stamp, err := c.receive(int(fd), &c.p[0], len(c.p), flags)
	switch {
	case errors.Is(err, unix.EAGAIN):
		c.emptyAt, c.unseen, c.idle, c.full = before, false, true, false
		return false
	case err != nil:
		c.err = &net.OpError{
			Op: "read", Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: os.NewSyscallError("read", err),
		}
		return true
	case n == 0:
		c.err = io.EOF
		return true
	}
	c.n = n
	if c.held {
		c.pending = n
	}
	at := time.Now()
	if c.watching {
		c.note(at, n, stamp, int(fd))
	}
	c.idle, c.full = false, n == len(c.p)
	if !c.full {
		c.emptyAt, c.unseen = before, false
	}
	return true
}

// note records what is known about bytes that have just been read.
func (c *stampedConn) note(at time.Time, n int, stamp int64, fd int) {
	// A segment that overtook another one was stamped before its bytes could be read. All overtaking segments
	// counted so far have a stamp before now, in this read or a later one. Stamps are not used on kernels that
	// do not count them (before 5.4).
	overtaken, counted := c.countOvertaken(fd)
	if overtaken != c.overtaken {
		c.overtaken, c.floor = overtaken, time.Now()
	}
	passed := time.Duration(at.UnixNano() - c.emptyAt.UnixNano())
	c.last = read{
		at: at, size: n, stamp: stamp, believed: counted && !stepped(passed, at.Sub(c.emptyAt)), empty: c.emptyAt,
		late: c.emptyAt, unseen: c.unseen,
	}
	if c.idle {
		c.last.late = time.Time{}
		if at.Sub(c.emptyAt) > 2*c.look { // woken too late, since it looks at least this often
			c.last.late = c.emptyAt.Add(c.look)
		}
	}
}

// stepped reports whether the wall clock was set between two moments, by comparing elapsed wall and monotonic
// time. Stamps are of the wall clock, arrivals of the monotonic one. Both are slewed alike.
func stepped(wall, monotonic time.Duration) bool {
	by := wall - monotonic
	return max(by, -by) > near
}

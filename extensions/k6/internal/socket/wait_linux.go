package socket

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// look is how long an idle reader goes without looking whether its socket is empty.
const look = 5 * time.Millisecond

// queue is a TCP connection that knows how long its bytes lay in the kernel's receive buffer.
//
// The kernel stamps each segment on arrival (SO_TIMESTAMPNS), but a read tells only the stamp of the last segment that it
// took: after 200 ms away from a socket that gets a message each ms, it says 1 ms. And it appends segments to the one
// before, some 17 of them, which then has the stamp of the last. So the stamp of the first bytes is asked for (MSG_PEEK),
// and it still understates. What overstates is the time since the socket was last seen empty: nothing in it is older.
// Both together bound the wait; measured says which one is told.
type queue struct {
	*net.TCPConn
	raw  syscall.RawConn
	once func(fd uintptr) bool // readOnce, bound once: a closure a read would be an allocation a read

	watching bool
	emptyAt  time.Time // when the socket was last seen empty
	idle     bool      // since then the reader has been waiting at it
	full     bool      // the last read filled its buffer, so more was there
	waited   time.Duration

	p   []byte // of the read under way, and its result
	n   int
	err error

	message unix.Msghdr // of peek
	iov     unix.Iovec
	first   byte
	control [64]byte
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
	q := &queue{TCPConn: tcp, raw: raw, waited: Unknown, emptyAt: time.Now()}
	q.once = q.readOnce
	return q
}

func (q *queue) wait() time.Duration { return q.waited }

func (q *queue) watch() {
	q.watching = true
	_ = q.SetReadDeadline(time.Now().Add(look)) // a failure shows in Read
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
			// Set when it has passed, not before each read: with messages coming in, that would be a timer a read.
			if err = q.SetReadDeadline(time.Now().Add(look)); err == nil {
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

// readOnce reads without blocking; false means that there was nothing.
func (q *queue) readOnce(fd uintptr) bool {
	before := time.Now()
	stamp := int64(0)
	if q.idle || q.full {
		var err error
		if stamp, err = q.peek(int(fd)); errors.Is(err, unix.EAGAIN) {
			return q.empty(before)
		} // any other error shows in the read
	}
	n, err := ignoringInterrupt(func() (int, error) { return unix.Read(int(fd), q.p) })
	switch {
	case errors.Is(err, unix.EAGAIN):
		return q.empty(before)
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
	q.waited = measured(time.Now(), q.emptyAt, stamp, q.idle, q.full)
	q.idle, q.full = false, n == len(q.p)
	if !q.full {
		q.emptyAt = before
	}
	return true
}

func (q *queue) empty(at time.Time) bool {
	q.emptyAt, q.idle, q.full = at, true, false
	return false
}

// measured is the wait of bytes read at a time; stamp is the kernel's for the first of them, in ns of the wall clock, 0
// without one.
//
// A reader that came back to find bytes there was away since the socket was seen empty, and that is told. A reader that
// was idle at the socket, or has not emptied it, tells the kernel's stamp; but if it was idle and had not looked for two
// intervals, it was not woken in time, and tells how long it was overdue.
func measured(at, emptyAt time.Time, stamp int64, idle, full bool) time.Duration {
	most := max(at.Sub(emptyAt), 0) // by the monotonic clock: steps of the wall clock can't exceed it
	if !idle && !full {
		return most
	}
	waited := Unknown
	if stamp != 0 {
		waited = min(max(time.Duration(at.UnixNano()-stamp), 0), most)
	}
	if idle && most > 2*look {
		waited = max(waited, most-look)
	}
	return waited
}

// peek returns the stamp of the bytes that are next, in ns. It is unix.Recvmsg without its allocation of an address.
func (q *queue) peek(fd int) (stamp int64, err error) {
	q.iov.Base = &q.first
	q.iov.SetLen(1)
	q.message = unix.Msghdr{Iov: &q.iov, Control: &q.control[0]}
	q.message.SetIovlen(1)
	q.message.SetControllen(len(q.control))
	if _, err = ignoringInterrupt(func() (int, error) {
		n, _, errno := unix.Syscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&q.message)), unix.MSG_PEEK)
		if errno != 0 {
			return 0, errno
		}
		return int(n), nil
	}); err != nil {
		return 0, err
	}
	for rest := q.control[:q.message.Controllen]; len(rest) >= unix.SizeofCmsghdr; {
		header, data, after, err := unix.ParseOneSocketControlMessage(rest)
		if err != nil {
			break
		}
		var t unix.Timespec
		if header.Level == unix.SOL_SOCKET && header.Type == unix.SCM_TIMESTAMPNS && len(data) >= int(unsafe.Sizeof(t)) {
			copy(unsafe.Slice((*byte)(unsafe.Pointer(&t)), unsafe.Sizeof(t)), data)
			return t.Nano(), nil
		}
		rest = after
	}
	return 0, nil
}

func ignoringInterrupt(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

package arrival

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"go.k6.io/k6/v2/lib/netext"
	"golang.org/x/sys/unix"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
)

// lane is a connection of the loop, and the requests that go over it one at a time. All of it is the loop's, but for the time that
// it is lent.
type lane struct {
	*sender
	loop   *loop
	ctx    context.Context // of its VU
	done   func()          // says that it has ended
	number int             // below 0: the loop does not know it yet
	fd     int             // its connection; below 0: it has none, or the poster has it
	counts *netext.Conn    // k6's counters of bytes, for fd

	busy   bool // it has a request
	slot   pacer.Slot
	sent   time.Time
	buffer []byte
	came   bytes.Reader // what is in buffer
}

// send sends a request, or has a goroutine do so.
func (n *lane) send(slot pacer.Slot) {
	e := n.engine
	n.busy, n.slot = true, slot
	n.body = e.bodies.append(n.body[:0], slot)
	n.sent = time.Now()
	e.ledger.Sent(slot, e.clock.At(n.sent))
	n.compose(n.body, slot.Messages)
	if idle := n.sent.Sub(n.used); n.fd >= 0 && (idle > idleMost || idle > idleUnchecked && spoken(n.fd, true)) {
		n.drop()
	}
	if n.fd < 0 {
		n.lend(func() error { return n.exchange(n.sent) })
		return
	}
	written, err := again(unix.SYS_WRITE, n.fd, n.packet)
	atomic.AddInt64(n.counts.BytesWritten, int64(written))
	switch {
	case err != nil && !errors.Is(err, unix.EAGAIN):
		n.settle(n.fail(os.NewSyscallError("write", err)))
	case written < len(n.packet):
		n.resume(n.packet[written:], nil)
	}
}

// read reads an answer.
func (n *lane) read() {
	if n.fd < 0 {
		return
	}
	if !n.busy { // the server has closed it, or says what nobody asked for
		n.drop()
		return
	}
	read, err := again(unix.SYS_READ, n.fd, n.buffer)
	atomic.AddInt64(n.counts.BytesRead, int64(read))
	switch {
	case errors.Is(err, unix.EAGAIN):
		return
	case err != nil:
		n.settle(n.fail(os.NewSyscallError("read", err)))
		return
	case read == 0:
		n.settle(n.fail(io.EOF))
		return
	}
	n.came.Reset(n.buffer[:read])
	n.reader.Reset(&n.came)
	if n.readAnswer() != nil || !n.reusable() {
		n.resume(nil, n.buffer[:read]) // it may be there in part only, and may end with the connection
		return
	}
	n.settle(n.conclude(nil))
}

// fail ends an exchange, and the connection.
func (n *lane) fail(err error) answer {
	n.drop()
	return n.conclude(err)
}

// settle ends a request. The lane is idle then.
func (n *lane) settle(a answer) {
	n.account(a)
	n.loop.idle = append(n.loop.idle, n)
}

func (n *lane) account(a answer) {
	n.busy = false
	outcome := n.engine.answered(n.slot, a, n.sent)
	n.samples.push(n.ctx, n.slot, a.status, n.sent, a.done)
	n.engine.ledger.Settle(n.slot, outcome)
}

// lend has a goroutine end the request.
func (n *lane) lend(exchange func() error) {
	go func() {
		n.account(n.conclude(exchange()))
		n.loop.welcome(n)
	}()
}

// resume has a goroutine go on with a request of which unsent is not written yet, or whose answer begins with begun.
func (n *lane) resume(unsent, begun []byte) {
	err := n.attach()
	n.lend(func() error {
		if err != nil {
			return err
		}
		n.link.expect(n.sent, n.sent.Add(n.timeout))
		if len(unsent) > 0 {
			if err := n.link.send(unsent); err != nil {
				return err
			}
		}
		n.reader.Reset(io.MultiReader(bytes.NewReader(begun), incoming{n.link}))
		return n.poster.read()
	})
}

// detach takes the poster's connection from the runtime's poller, which would wake a thread for each answer, and leaves one that is
// not a socket where it is.
func (n *lane) detach() {
	if n.link == nil {
		return
	}
	counts, ok := n.link.Conn.(*netext.Conn)
	if !ok {
		return
	}
	tcp, ok := counts.Conn.(*net.TCPConn)
	if !ok {
		return
	}
	fd := -1
	raw, err := tcp.SyscallConn()
	if err == nil {
		_ = raw.Control(func(socket uintptr) { fd, err = unix.FcntlInt(socket, unix.F_DUPFD_CLOEXEC, 0) })
	}
	if err != nil || fd < 0 {
		return
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(n.number)}
	if err := unix.EpollCtl(n.loop.epoll, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
		_ = unix.Close(fd)
		return
	}
	n.fd, n.counts = fd, counts
	n.hangUp()
}

// attach gives the connection to the poster.
func (n *lane) attach() error {
	_ = unix.EpollCtl(n.loop.epoll, unix.EPOLL_CTL_DEL, n.fd, nil)
	file := os.NewFile(uintptr(n.fd), n.address)
	n.fd = -1
	conn, err := net.FileConn(file)
	_ = file.Close()
	if err == nil {
		n.link = &link{Conn: &netext.Conn{Conn: conn, BytesRead: n.counts.BytesRead, BytesWritten: n.counts.BytesWritten}}
	}
	return err
}

// drop closes the connection.
func (n *lane) drop() {
	if n.fd >= 0 {
		_ = unix.Close(n.fd) // which the epoll forgets
		n.fd = -1
	}
	if n.link != nil {
		n.hangUp()
	}
}

// again makes a system call until no signal interrupts it. It returns 0 bytes with an error. The runtime is not told: it is one that
// never waits.
func again(call uintptr, fd int, b []byte) (int, error) {
	for {
		n, _, err := unix.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		switch err {
		case 0:
			return int(n), nil
		case unix.EINTR:
		default:
			return 0, err
		}
	}
}

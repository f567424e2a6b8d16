package send

import (
	"net"
	"syscall"
	"time"

	"go.k6.io/k6/v2/lib/netext"
	"golang.org/x/sys/unix"
)

// peer is what the kernel knows of the other side of a connection.
type peer struct {
	raw   syscall.RawConn // nil: not known
	look  func(fd uintptr)
	event [1]unix.PollFd
}

// of makes it the peer of a connection.
func (p *peer) of(conn net.Conn) {
	if counted, ok := conn.(*netext.Conn); ok {
		conn = counted.Conn
	}
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	p.raw = raw
	p.look = func(fd uintptr) { // bound once: a closure a request would be an allocation a request
		p.event[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN | unix.POLLRDHUP}
		if _, err := unix.Poll(p.event[:], 0); err != nil {
			p.event[0].Revents = 0
		}
	}
}

// closed reports whether the peer has closed an idle connection, or has sent unsolicited data: servers send 408
// before they close. It reads nothing off the socket. Under TLS the data may be a session ticket.
func (l *link) closed() bool {
	if l.peer.raw == nil {
		return false
	}
	if l.peer.raw.Control(l.peer.look) != nil {
		return true
	}
	seen := l.peer.event[0].Revents
	return seen&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0 || seen&unix.POLLIN != 0 && l.secure == nil
}

const (
	// refusalMost is how long a refusal may take, beyond two round trips. It is shorter than the kernel's first
	// retransmission (200 ms), and longer than an acknowledgement may be delayed (40 ms).
	refusalMost = 100 * time.Millisecond
	// refusalLook is the interval of the looks for it.
	refusalLook = time.Millisecond
	// stateClosed is TCP_CLOSE of the kernel.
	stateClosed = 7
)

// refused returns how many bytes the peer has neither read nor acknowledged, if it had closed the connection before
// they came, and has then refused them (RST); otherwise -1. A peer that has only stopped sending acknowledges them, as
// it may read them; a reset without an end before it says nothing of what was read.
func (l *link) refused() (unacknowledged int) {
	unacknowledged = -1
	if l.peer.raw == nil {
		return unacknowledged
	}
	for began := time.Now(); ; time.Sleep(refusalLook) {
		over := true
		if err := l.peer.raw.Control(func(fd uintptr) {
			info, err := unix.GetsockoptTCPInfo(int(fd), unix.SOL_TCP, unix.TCP_INFO)
			if err != nil {
				return
			}
			if info.State != stateClosed {
				most := refusalMost + 2*time.Duration(info.Rtt)*time.Microsecond
				over = info.State == 0 || time.Since(began) > most
				return
			}
			var b [1]byte
			n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
			if n != 0 || err != nil {
				return // it was reset, or there is an answer
			}
			if left, err := unix.IoctlGetInt(int(fd), unix.SIOCOUTQ); err == nil {
				unacknowledged = left
			}
		}); err != nil || over {
			return unacknowledged
		}
	}
}

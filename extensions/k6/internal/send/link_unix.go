//go:build unix && !linux

package send

import (
	"errors"
	"net"

	"go.k6.io/k6/v2/lib/netext"
	"golang.org/x/sys/unix"
)

// peer is not known here.
type peer struct{}

func (*peer) of(net.Conn) {}

// refused cannot be known here.
func (l *link) refused() (unacknowledged int) { return -1 }

// closed reports whether the peer has closed an idle connection, or has sent unsolicited data: servers send 408
// before they close. It reads nothing off the socket.
func (l *link) closed() bool {
	conn := l.Conn
	if counted, ok := conn.(*netext.Conn); ok {
		conn = counted.Conn
	}
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return false
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return true
	}
	n := 0
	if refused := raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err = unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	}); refused != nil {
		return true
	}
	if err != nil {
		return !errors.Is(err, unix.EAGAIN)
	}
	return n == 0 || l.secure == nil // under TLS the data may be a session ticket
}

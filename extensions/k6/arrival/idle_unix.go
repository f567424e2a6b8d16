//go:build unix

package arrival

import (
	"errors"
	"net"

	"go.k6.io/k6/v2/lib/netext"
	"golang.org/x/sys/unix"
)

// closed reports whether the peer has closed an idle connection, or has said something that nobody asked for: servers send 408
// before they close. It takes nothing off the socket.
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
	ended := false
	err = raw.Control(func(fd uintptr) { ended = spoken(int(fd), l.secure == nil) })
	return ended || err != nil
}

// spoken reports whether a socket has an end, an error, or, with any, anything to read: under TLS what has come may be a ticket.
func spoken(fd int, any bool) bool {
	var b [1]byte
	n, _, err := unix.Recvfrom(fd, b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return err == nil && (n == 0 || any) || err != nil && !errors.Is(err, unix.EAGAIN)
}

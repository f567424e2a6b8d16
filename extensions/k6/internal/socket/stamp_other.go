//go:build !linux

package socket

import (
	"net"
	"time"
)

// newWaiter returns nil: only Linux stamps what comes in on a TCP socket.
func newWaiter(net.Conn) waiter { return nil }

// stampAccepted does nothing.
func stampAccepted(net.Listener) {}

// Sent returns a function that knows no stamps.
func Sent(*net.TCPConn) (last func() time.Time, err error) {
	return func() time.Time { return time.Time{} }, nil
}

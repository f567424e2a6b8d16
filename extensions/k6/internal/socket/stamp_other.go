//go:build !linux

package socket

import "net"

// newWaiter returns nil: only Linux stamps what comes in on a TCP socket.
func newWaiter(net.Conn) waiter { return nil }

// stampAccepted does nothing.
func stampAccepted(net.Listener) {}

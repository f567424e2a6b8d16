//go:build !unix

package send

import "net"

// peer is not known here.
type peer struct{}

func (*peer) of(net.Conn) {}

// closed cannot be known here.
func (l *link) closed() bool { return false }

// refused cannot be known here.
func (l *link) refused() (unacknowledged int) { return -1 }

package send

import (
	"context"
	"fmt"
	"net/netip"
	"syscall"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext"
	"golang.org/x/sys/unix"
)

// sourceBlock is how many loopback connections share a source address.
const sourceBlock = 1000

// sourceKey is the context key of a connection's number.
type sourceKey struct{}

func withSource(ctx context.Context, number int) context.Context {
	return context.WithValue(ctx, sourceKey{}, number)
}

// spreadSources makes a dialer's loopback connections use many source addresses. Two addresses have 28,000
// ports between them, and the kernel searches for a free one: with thousands taken that costs milliseconds of
// CPU for each connection.
func spreadSources(of lib.DialContexter) {
	dialer, ok := of.(*netext.Dialer)
	if !ok || dialer.LocalAddr != nil || dialer.Control != nil || dialer.ControlContext != nil {
		return // the user has configured one
	}
	dialer.ControlContext = func(ctx context.Context, _, address string, socket syscall.RawConn) error {
		number, ok := ctx.Value(sourceKey{}).(int)
		to, err := netip.ParseAddrPort(address)
		if !ok || err != nil || !to.Addr().Is4() || !to.Addr().IsLoopback() {
			return nil
		}
		var refused error
		err = socket.Control(func(fd uintptr) { refused = bindSource(int(fd), number) })
		if err == nil && refused != nil {
			err = fmt.Errorf("no address of the loopback for connection %d: %w", number, refused)
		}
		return err
	}
}

// bindSource leaves the choice of the port to connect(2), which knows the destination.
func bindSource(fd, number int) error {
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1); err != nil {
		return err
	}
	block := number / sourceBlock
	return unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 1, byte(block >> 8), byte(block)}})
}

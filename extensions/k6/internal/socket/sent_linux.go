package socket

import (
	"net"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Sent makes the kernel stamp what leaves over a connection (SO_TIMESTAMPING). The function that it returns takes the
// stamp of the last byte of the last write; zero: the kernel has not sent that yet.
func Sent(conn *net.TCPConn) (last func() time.Time, err error) {
	const flags = unix.SOF_TIMESTAMPING_TX_SOFTWARE | unix.SOF_TIMESTAMPING_SOFTWARE | unix.SOF_TIMESTAMPING_OPT_TSONLY
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	failed := raw.Control(func(fd uintptr) {
		err = os.NewSyscallError("setsockopt", unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPING, flags))
	})
	if failed != nil {
		return nil, failed
	}
	control := make([]byte, 512)
	return func() (at time.Time) {
		_ = raw.Control(func(fd uintptr) { // fails on a closed connection, whose stamps are gone
			for {
				_, n, _, _, err := unix.Recvmsg(int(fd), nil, control, unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
				if err != nil {
					return // no more
				}
				messages, err := unix.ParseSocketControlMessage(control[:n])
				if err != nil {
					return
				}
				for _, m := range messages {
					if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_TIMESTAMPING {
						at = time.Unix(0, (*unix.Timespec)(unsafe.Pointer(&m.Data[0])).Nano())
					}
				}
			}
		})
		return at
	}, err
}

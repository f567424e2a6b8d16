package socket

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// calls are system calls on a socket, with what they write to: unix' own allocate it.
type calls struct {
	message  unix.Msghdr
	iov      unix.Iovec
	control  [64]byte
	info     unix.TCPInfo
	infoSize uint32
}

// receive reads n bytes into p without blocking; with MSG_TRUNC it discards them.
func (c *calls) receive(fd int, p *byte, n, flags int) (took int, stamp int64, err error) {
	c.iov.Base = p
	c.iov.SetLen(n)
	c.message = unix.Msghdr{Iov: &c.iov, Control: &c.control[0]}
	c.message.SetIovlen(1)
	c.message.SetControllen(len(c.control))
	for {
		n, _, errno := unix.Syscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&c.message)), uintptr(flags|unix.MSG_DONTWAIT))
		if errno == 0 {
			took = int(n)
			break
		}
		if errno != unix.EINTR {
			return 0, 0, errno
		}
	}
	for rest := c.control[:c.message.Controllen]; len(rest) >= unix.SizeofCmsghdr; {
		header, data, after, err := unix.ParseOneSocketControlMessage(rest)
		if err != nil {
			break
		}
		var t unix.Timespec
		if header.Level == unix.SOL_SOCKET && header.Type == unix.SCM_TIMESTAMPNS &&
			len(data) >= int(unsafe.Sizeof(t)) {
			copy(unsafe.Slice((*byte)(unsafe.Pointer(&t)), unsafe.Sizeof(t)), data)
			return took, t.Nano(), nil
		}
		rest = after
	}
	return took, 0, nil
}

// countOvertaken counts the segments that overtook one sent earlier; ok is false if the kernel does not count them.
func (c *calls) countOvertaken(fd int) (n uint32, ok bool) {
	const end = unsafe.Offsetof(c.info.Rcv_ooopack) + unsafe.Sizeof(c.info.Rcv_ooopack)
	c.infoSize = uint32(end)
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(&c.info)), uintptr(unsafe.Pointer(&c.infoSize)), 0)
	return c.info.Rcv_ooopack, errno == 0 && c.infoSize == uint32(end)
}

package socket

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// arrivals returns the arrivals of messages, and takes the read from the socket.
func (c *stampedConn) arrivals(ends []int, into []Arrival) []Arrival {
	c.ends, c.stamps = ends, c.stamps[:0]
	for range ends {
		c.stamps = append(c.stamps, c.last.stamp)
	}
	if c.pending > 0 {
		_ = c.raw.Control(c.taken) // fails on a closed connection, whose last messages are still delivered
	}
	into = c.grouped(into)
	c.ends = nil
	return into
}

// grouped makes the arrivals of messages, group by group.
func (c *stampedConn) grouped(into []Arrival) []Arrival {
	for from := 0; from < len(c.ends); {
		to := from + 1
		for to < len(c.ends) && c.stamps[to] == c.stamps[from] {
			to++
		}
		into = c.stamped(from, to, into)
		from = to
	}
	return into
}

// takeAll takes the pending bytes from the socket, and notes the stamp of each end.
func (c *stampedConn) takeAll(fd uintptr) {
	c.takeBy(func(n int) int64 { return c.take(int(fd), n) })
}

// takeBy takes the pending bytes by calls of take, which returns the stamp of the last of them. Segments close
// to the last one get its stamp: one call for all of them, not one for each message.
func (c *stampedConn) takeBy(take func(n int) (stamp int64)) {
	taken := 0
	for i, end := range c.ends {
		if i > 0 && c.last.stamp-c.stamps[i-1] <= int64(near) {
			break
		}
		c.stamps[i] = min(c.stamps[i], take(end-taken)) // a segment appended since is not ours
		taken = end
	}
	if taken < c.pending {
		take(c.pending - taken)
	}
	c.pending = 0
}

// take takes bytes from the socket and returns the stamp of the last segment of them; 0 without one.
func (c *stampedConn) take(fd, n int) (stamp int64) {
	for n > 0 {
		took, s, err := c.receive(fd, nil, n, unix.MSG_TRUNC)
		if err != nil || took == 0 {
			return 0
		}
		n, stamp = n-took, s
	}
	return stamp
}

// stamped makes arrivals of the messages [from, to), which have one stamp.
func (c *stampedConn) stamped(from, to int, into []Arrival) []Arrival {
	r, stamp, begin, end := &c.last, c.stamps[from], 0, c.ends[to-1]
	if from > 0 {
		begin = c.ends[from-1]
	}
	at := r.wall(stamp)
	if stamp == 0 || !r.believed || at.After(r.at) || at.Before(r.empty) || at.Before(c.floor) {
		for _, end := range c.ends[from:to] {
			into = append(into, Arrival{At: r.at, Waited: r.wait(begin)})
			begin = end
		}
		return into
	}
	late, unseen := r.late, r.unseen
	if stamp == c.before.stamp { // two reads took one segment
		late, unseen = c.before.late, c.before.unseen
	} else if before := r.wall(c.before.stamp); !late.IsZero() && before.After(late) {
		late, unseen = before, false
	}
	c.before = group{stamp, late, unseen}
	for _, e := range c.ends[from:to] {
		a, share := Arrival{At: at, Kernel: true}, end-e
		if !c.held && !c.alone { // the read may have bytes after these messages, with the same stamp
			share = end - begin
		}
		switch {
		case late.IsZero() || share == 0:
		case unseen:
			a.Waited = Unknown
		default:
			a.Waited = part(at.Sub(late), share, end-begin)
		}
		into = append(into, a)
	}
	return into
}

// wall converts a stamp to a time.
func (r *read) wall(stamp int64) time.Time { return r.at.Add(-time.Duration(r.at.UnixNano() - stamp)) }

// wait returns how long a message waited that arrived with its read and begins at this offset of it.
func (r *read) wait(begin int) time.Duration {
	late := r.late
	switch {
	case r.unseen || late.IsZero() && r.stamp == 0:
		return Unknown
	case late.IsZero():
		late = r.empty
	}
	return part(r.at.Sub(late), r.size-begin, r.size)
}

// part is so much of a time, and nothing below zero.
func part(of time.Duration, share, whole int) time.Duration {
	return max(0, time.Duration(float64(of)*float64(share)/float64(whole)))
}

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
		n, _, errno := unix.Syscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&c.message)),
			uintptr(flags|unix.MSG_DONTWAIT))
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

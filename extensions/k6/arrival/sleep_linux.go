package arrival

import (
	"time"

	"golang.org/x/sys/unix"
)

// nanosleep holds its thread for d, to within the kernel's timer slack of 50 µs.
func nanosleep(d time.Duration) {
	ts := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.Nanosleep(&ts, nil)
}

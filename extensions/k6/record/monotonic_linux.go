package record

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonic is the host's monotonic clock, ns.
func monotonic() int64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return time.Since(began).Nanoseconds()
	}
	return now.Nano()
}

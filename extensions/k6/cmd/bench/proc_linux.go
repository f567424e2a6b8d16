package main

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// cpuOf is the CPU time, user and system, that a process and its ended threads have used so far: the scheduler's own count, in
// ns. /proc/<pid>/stat says the same in ticks of 10 ms.
func cpuOf(pid int) (time.Duration, error) {
	const scheduler = 2 // CPUCLOCK_SCHED: clock_getcpuclockid(3) makes the number of a process's clock like this
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|scheduler, &t); err != nil {
		return 0, fmt.Errorf("the CPU time of process %d can't be read: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

package main

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cpuOf is the CPU time (user and system) of a process and its ended threads so far, in the scheduler's ns.
// /proc/<pid>/stat has it in ticks of 10 ms only.
func cpuOf(pid int) (time.Duration, error) {
	const scheduler = 2 // CPUCLOCK_SCHED: clock_getcpuclockid(3) makes the number of a process's clock like this
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|scheduler, &t); err != nil {
		return 0, fmt.Errorf("the CPU time of process %d can't be read: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// peakOf is the peak resident memory of a process that has ended, in bytes (getrusage(2)).
func peakOf(ended *os.ProcessState) (int64, error) {
	return ended.SysUsage().(*syscall.Rusage).Maxrss << 10, nil
}

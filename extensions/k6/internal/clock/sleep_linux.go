package clock

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// timers are idle kernel timers. Each sender in its last 2 ms needs one.
var timers sync.Pool

// nanosleep waits for d, to within the kernel's timer slack of 50 µs. The timer wakes the goroutine as a socket
// does: a sleeping system call would block a processor of the runtime, and with it the subscribers' sockets.
func nanosleep(d time.Duration) {
	timer, _ := timers.Get().(*os.File)
	if timer == nil {
		fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
		if err != nil {
			time.Sleep(d) // out of file descriptors: late, which the schedule stage shows
			return
		}
		timer = os.NewFile(uintptr(fd), "timer")
	}
	raw, err := timer.SyscallConn()
	set := false
	if err == nil {
		// Setting the timer clears its counter, so the counter is not read.
		err = raw.Read(func(fd uintptr) (over bool) {
			if set {
				return true
			}
			set = true
			return unix.TimerfdSettime(int(fd), 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(d.Nanoseconds())},
				nil) != nil
		})
	}
	if err != nil {
		_ = timer.Close()
		return
	}
	timers.Put(timer)
}

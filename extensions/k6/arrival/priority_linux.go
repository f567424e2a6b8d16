package arrival

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// realtime is the lowest priority of sched(7) that goes before all that is not realtime.
const realtime = 1

// goFirst puts all threads of this process, and those that they will start, before the other processes of the host
// (SCHED_RR): where generator and pipeline share cores, what is due would otherwise wait for what the pipeline does. It returns
// the policy in the words of sched(7), with the reason where the system refuses another one, and what puts it back.
//
// The kernel keeps 5 % of the time for the others (sched_rt_runtime_us), whatever the generator does.
func goFirst() (policy string, back func()) {
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return "unknown", func() {}
	}
	if before.Policy != unix.SCHED_NORMAL {
		return "as k6 was started", func() {} // somebody chose it (chrt)
	}
	first := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: realtime}
	if err := setPolicy(&first); err != nil {
		_ = setPolicy(before) // of the threads that have it already
		if errors.Is(err, unix.EPERM) {
			return "SCHED_OTHER: SCHED_RR wants CAP_SYS_NICE", func() {}
		}
		return fmt.Sprintf("SCHED_OTHER: no SCHED_RR: %s", err), func() {}
	}
	return fmt.Sprintf("SCHED_RR %d", realtime), sync.OnceFunc(func() { _ = setPolicy(before) })
}

// setPolicy sets the policy of all threads. One that has not got it yet may start another meanwhile, which then has not got it
// either: it ends when there is no new one.
func setPolicy(attr *unix.SchedAttr) error {
	done := map[int]bool{}
	for {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		found := false
		for _, task := range tasks {
			id, err := strconv.Atoi(task.Name())
			if err != nil || done[id] {
				continue
			}
			if err := unix.SchedSetAttr(id, attr, 0); err != nil && !errors.Is(err, unix.ESRCH) { // it has ended
				return err
			}
			done[id], found = true, true
		}
		if !found {
			return nil
		}
	}
}

//go:build linux

package arrival

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// policies counts this process's threads by their policy.
func policies(t *testing.T) map[uint32]int {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	counts := map[uint32]int{}
	for _, task := range tasks {
		id, _ := strconv.Atoi(task.Name())
		attr, err := unix.SchedGetAttr(id, 0)
		if err == nil { // else it has ended
			counts[attr.Policy]++
		}
	}
	return counts
}

func TestAllThreadsGoFirstAndThenNoLonger(t *testing.T) {
	policy, back := goFirst()
	if strings.HasPrefix(policy, "SCHED_OTHER") {
		if n := policies(t)[unix.SCHED_RR]; n > 0 {
			t.Errorf("refused (%s), but %d threads go first", policy, n)
		}
		t.Skip(policy)
	}
	defer back()
	if policy != "SCHED_RR 1" {
		t.Errorf("policy is %q", policy)
	}
	// A thread that is started now has it too.
	started, ended := make(chan struct{}), make(chan struct{})
	defer close(ended)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		close(started)
		<-ended
	}()
	<-started
	if n := policies(t); n[unix.SCHED_RR] == 0 || n[unix.SCHED_NORMAL] > 0 {
		t.Errorf("threads by policy: %v, want all SCHED_RR", n)
	}
	back()
	if n := policies(t); n[unix.SCHED_RR] > 0 {
		t.Errorf("threads by policy: %v, want none SCHED_RR", n)
	}
}

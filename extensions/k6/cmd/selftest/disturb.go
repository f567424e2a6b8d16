package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
)

// frozenFor is how long k6 is frozen each time.
const frozenFor = 300 * ms

// freezeK6 stops k6 at these times after its first request, and lets it go on after frozenFor each.
func freezeK6(ctx context.Context, k6 *os.Process, f *fake.Pipeline, at []time.Duration) {
	wait := func(d time.Duration) bool {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(d):
			return true
		}
	}
	for f.Requests() == 0 {
		if !wait(5 * ms) {
			return
		}
	}
	first := time.Now()
	for _, moment := range at {
		if !wait(time.Until(first.Add(moment))) || k6.Signal(syscall.SIGSTOP) != nil {
			return
		}
		wait(frozenFor)
		_ = k6.Signal(syscall.SIGCONT)
	}
}

// ownCores are the cores that this process may use at its start: the first one, and the others as taskset lists them.
var ownCores = sync.OnceValues(func() (first, others string) {
	_, list, _ := strings.Cut(string(must.Get(os.ReadFile("/proc/self/status"))), "Cpus_allowed_list:\t")
	list, _, _ = strings.Cut(list, "\n")
	return splitCores(list)
})

// splitCores takes the first core off a list like 0-3,8.
func splitCores(list string) (first, others string) {
	head, rest, more := strings.Cut(list, ",")
	first, last, isSpan := strings.Cut(head, "-")
	if isSpan {
		head = strconv.Itoa(must.Get(strconv.Atoi(first))+1) + "-" + last
		if more {
			return first, head + "," + rest
		}
		return first, head
	}
	return first, rest
}

// pinSelf keeps this process, and the pipeline in it, to these cores until the returned function is called: what
// disturbs k6 must not make the pipeline slower.
func pinSelf(cores string) (release func()) {
	pin := func(to string) {
		must.Do(exec.Command("taskset", "-a", "-p", "-c", to, strconv.Itoa(os.Getpid())).Run())
	}
	pin(cores)
	return func() {
		first, others := ownCores()
		pin(first + "," + others)
	}
}

// quotaPeriod is the span in which the kernel counts a group's use of the CPU.
const quotaPeriod = 100 * ms

// cpuGroup has the files of cgroup v2 or v1 with which processes get a share of the CPU.
type cpuGroup struct {
	dir    string
	limits func(quota time.Duration) map[string]string // the text for each file
}

// cpuGroups asks the kernel once where it lets this process make such groups; why is empty if it does.
var cpuGroups = sync.OnceValues(func() (at cpuGroup, why string) {
	micros := func(d time.Duration) string { return strconv.FormatInt(d.Microseconds(), 10) }
	for _, one := range []cpuGroup{
		{"/sys/fs/cgroup", func(quota time.Duration) map[string]string {
			return map[string]string{"cpu.max": micros(quota) + " " + micros(quotaPeriod)}
		}},
		{"/sys/fs/cgroup/cpu", func(quota time.Duration) map[string]string {
			return map[string]string{"cpu.cfs_period_us": micros(quotaPeriod), "cpu.cfs_quota_us": micros(quota)}
		}},
	} {
		dir, err := one.make(quotaPeriod)
		if err != nil {
			continue
		}
		err = exec.Command("sh", "-c", join, dir, "true").Run()
		remove(dir)
		if err == nil {
			return one, ""
		}
	}
	return cpuGroup{}, "the kernel lets this user make no cgroup with a limit on the CPU"
})

// join is a shell's command that enters a group and becomes another command.
const join = `echo $$ >"$0/cgroup.procs" && exec "$@"`

// make makes a group whose processes may use the CPU for quota in each period.
func (g cpuGroup) make(quota time.Duration) (dir string, err error) {
	if _, err := os.Stat(filepath.Join(g.dir, "cgroup.procs")); err != nil { // no group can be made here
		return "", err
	}
	dir = filepath.Join(g.dir, fmt.Sprintf("arrival-selftest-%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	for file, limit := range g.limits(quota) {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(limit), 0); err != nil {
			remove(dir)
			return "", err
		}
	}
	return dir, nil
}

// remove removes a group. The kernel takes a moment to forget its last process.
func remove(dir string) {
	for range 100 {
		if os.Remove(dir) == nil {
			return
		}
		time.Sleep(10 * ms)
	}
	fmt.Fprintln(os.Stderr, "selftest  "+dir+" can't be removed")
}

// limitCPU makes a command that runs another one with a share of one core, and the function that removes its group.
func limitCPU(share float64, name string, args []string) (limited string, withArgs []string, after func()) {
	group, why := cpuGroups()
	if why != "" {
		must.Fail("%s", why)
	}
	dir := must.Get(group.make(time.Duration(share * float64(quotaPeriod))))
	return "sh", slices.Concat([]string{"-c", join, dir, name}, args), func() { remove(dir) }
}

package main

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// apart gives k6 its own process group, so that only we react to Ctrl-C, and ends it even if we are killed.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// crowd pins this thread, and what it starts from now on, to one core, and starts busy processes there. stop
// ends them; the caller has locked its thread, which is then free again.
func crowd(ctx context.Context, others int) (stop func(), err error) {
	var all, one unix.CPUSet
	ends := []func(){}
	stop = func() {
		for _, end := range ends {
			end()
		}
	}
	if others == 0 {
		return stop, nil
	}
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return stop, fmt.Errorf("the cores of this process can't be read: %w", err)
	}
	for core := 0; one.Count() == 0; core++ {
		if all.IsSet(core) {
			one.Set(core)
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return stop, fmt.Errorf("a process can't be held to a core: %w", err)
	}
	ends = append(ends, func() { _ = unix.SchedSetaffinity(0, &all) })
	for range others {
		busy := exec.CommandContext(ctx, "sh", "-c", "while :; do :; done")
		busy.SysProcAttr = apart()
		if err := busy.Start(); err != nil {
			return stop, err
		}
		ends = append(ends, func() { _ = busy.Process.Kill(); _ = busy.Wait() })
	}
	return stop, nil
}

package main

import "syscall"

// apart gives k6 a process group of its own, so that Ctrl-C ends it once and through us, and lets it not outlive us even
// where we are killed.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

package main

import "syscall"

// apart gives k6 its own process group, so that only we react to Ctrl-C, and ends it even if we are killed.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

package main

import "syscall"

// ownGroup keeps Ctrl-C from k6, and has the kernel end k6 if the self-test is killed.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

package main

import "syscall"

// ownGroup keeps Ctrl-C from k6, and has the kernel end k6 if the self-test is killed.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// ownSession does the same, and gives k6 a session of its own, which the kernel gives a share of the CPU.
func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

//go:build !linux

package main

import "syscall"

// apart leaves k6 in our process group, where Ctrl-C reaches it too.
func apart() *syscall.SysProcAttr { return nil }

//go:build !linux

package main

import "syscall"

// ownGroup leaves k6 in the process group of the self-test, where Ctrl-C reaches it too.
func ownGroup() *syscall.SysProcAttr { return nil }

func ownSession() *syscall.SysProcAttr { return nil }

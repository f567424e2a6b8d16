//go:build !linux

package main

import (
	"context"
	"syscall"
)

// apart leaves k6 in our process group, where Ctrl-C reaches it too.
func apart() *syscall.SysProcAttr { return nil }

// crowd does nothing: the case that asks for it is of Linux.
func crowd(context.Context, int) (stop func(), err error) { return func() {}, nil }

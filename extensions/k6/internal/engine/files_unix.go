//go:build unix

package engine

import (
	"math"
	"syscall"
)

// openFiles is the limit of open files of this process. Go has raised it to the hard limit.
func openFiles() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxUint64
	}
	return uint64(limit.Cur)
}

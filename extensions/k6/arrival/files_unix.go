//go:build unix

package arrival

import (
	"math"
	"syscall"
)

// openFiles is how many files this process may have open. Go has raised it to what the system lets it have.
func openFiles() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxUint64
	}
	return uint64(limit.Cur)
}

//go:build unix

package runfile

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// Hold marks a run as in progress: as long as this process holds the open timeline, nobody recovers its report. The
// kernel takes the mark with the process, however that ends. Where a file system knows no locks, there is no mark.
func Hold(timeline string) *os.File {
	f, err := os.OpenFile(timeline, os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return f
}

// seize takes the mark of a run that has ended; ended is false for one in progress.
func seize(timeline string) (release func(), ended bool) {
	f, err := openFile(timeline)
	if err != nil {
		return func() {}, errors.Is(err, os.ErrNotExist)
	}
	release = func() { _ = f.Close() }
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case err == nil:
		return release, true
	case errors.Is(err, syscall.EWOULDBLOCK):
		release()
		return nil, false
	}
	if info, err := f.Stat(); err != nil || time.Since(info.ModTime()) < silence {
		release()
		return nil, false
	}
	return release, true
}

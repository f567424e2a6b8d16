//go:build unix

package runfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// openFile opens a file of a run. It waits for no pipe and follows no link, so nothing can take the file's place
// between a check and the opening.
func openFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) {
		if info, lstat := os.Lstat(path); lstat == nil {
			return nil, noPlainFile(path, info)
		}
	}
	return f, err
}

func noPlainFile(path string, info fs.FileInfo) error {
	return fmt.Errorf("%s is not a plain file (%s)", path, info.Mode().Type())
}

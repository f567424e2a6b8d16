//go:build !unix

package runfile

import (
	"fmt"
	"io/fs"
	"os"
)

// openFile opens a file of a run. It follows no link.
func openFile(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, noPlainFile(path, info)
	}
	return os.Open(path)
}

func noPlainFile(path string, info fs.FileInfo) error {
	return fmt.Errorf("%s is not a plain file (%s)", path, info.Mode().Type())
}

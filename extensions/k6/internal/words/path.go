package words

import (
	"os"
	"path/filepath"
)

// ShortPath is a path relative to the working directory, where that is shorter.
func ShortPath(path string) string {
	if wd, err := os.Getwd(); err == nil {
		if short, err := filepath.Rel(wd, path); err == nil && len(short) < len(path) {
			return short
		}
	}
	return path
}

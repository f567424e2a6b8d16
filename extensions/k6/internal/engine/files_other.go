//go:build !unix

package engine

import "math"

// openFiles is the limit of open files: this system sets none.
func openFiles() uint64 { return math.MaxUint64 }

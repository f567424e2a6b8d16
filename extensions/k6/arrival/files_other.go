//go:build !unix

package arrival

import "math"

// openFiles is the limit of open files: this system sets none.
func openFiles() uint64 { return math.MaxUint64 }

//go:build !unix

package arrival

import "math"

// openFiles is how many files this process may have open: here the system sets no such limit.
func openFiles() uint64 { return math.MaxUint64 }

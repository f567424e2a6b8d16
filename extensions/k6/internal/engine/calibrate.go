package engine

import (
	"crypto/sha256"
	"slices"
	"sync"
	"time"
)

const (
	calibrations     = 25
	calibrationBytes = 512 * 1024 // a millisecond of work, about
)

// calibration is how long the same work takes on this machine, in µs: the median of some times, which one pause does not
// change. A history tells by it what is the machine's. The first call, before the load, does the work.
var calibration = sync.OnceValue(func() float64 {
	work := make([]byte, calibrationBytes)
	times := make([]time.Duration, calibrations)
	for i := range times {
		began := time.Now()
		sum := sha256.Sum256(work)
		times[i] = time.Since(began)
		copy(work, sum[:])
	}
	slices.Sort(times)
	return float64(times[calibrations/2]) / float64(time.Microsecond)
})

package record

import (
	"math"
	"time"
)

var began = time.Now()

// hostClock maps this process's time to the monotonic clock of the host, which other processes read too.
type hostClock struct {
	base time.Time
	at   int64 // ns on the host's clock
}

// brackets is how often both clocks are read: at least one pair should be free of interruptions.
const brackets = 16

func newHostClock() (c hostClock) {
	tightest := int64(math.MaxInt64)
	for range brackets {
		before := monotonic()
		now := time.Now()
		after := monotonic()
		if after-before < tightest {
			tightest, c = after-before, hostClock{now, before + (after-before)/2}
		}
	}
	return c
}

// us converts to µs, rounded up, so that a request is not sent too early.
func (c hostClock) us(t time.Time) int64 {
	return (c.at + t.Sub(c.base).Nanoseconds() + 999) / 1000
}

func (c hostClock) time(us int64) time.Time {
	return c.base.Add(time.Duration(us*1000 - c.at))
}

package clock

import (
	"context"
	"time"
)

// coarse is what Go's timers are good for: its poller waits in whole milliseconds.
const coarse = 2 * time.Millisecond

// SleepUntil waits for t, with the runtime's timer for the most of it and the kernel's for the rest. It returns at once
// when t has passed, and false when ctx ends or halted closes first.
func SleepUntil(ctx context.Context, halted <-chan struct{}, t time.Time) bool {
	if wait := time.Until(t) - coarse; wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return false
		case <-halted:
			return false
		}
	}
	for wait := time.Until(t); wait > 0; wait = time.Until(t) {
		nanosleep(wait) // a signal may end it early
	}
	return GoesOn(ctx, halted)
}

// GoesOn reports whether neither ctx has ended nor halted is closed.
func GoesOn(ctx context.Context, halted <-chan struct{}) bool {
	select {
	case <-halted:
		return false
	default:
		return ctx.Err() == nil
	}
}

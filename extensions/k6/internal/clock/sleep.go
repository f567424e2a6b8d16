package clock

import (
	"context"
	"time"
)

// coarse is the resolution of Go's timers, whose poller waits in whole milliseconds, with a margin.
const coarse = 2 * time.Millisecond

// SleepUntil waits for t: first with the runtime's timer, then with the kernel's. It returns at once when t has
// passed, and false when ctx ends or halted closes first.
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

// Until is ctx, which also ends when over closes.
func Until(ctx context.Context, over <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		defer stop()
		select {
		case <-over:
		case <-ctx.Done():
		}
	}()
	return ctx, stop
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

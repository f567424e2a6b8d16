// Package schedule hands out the requests of a run: in the open model when each is due, in the closed model
// when its sender has its turn.
package schedule

import (
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
)

// Course is the shared schedule of a run: due times, the ledger and the clock.
type Course struct {
	Pacer   *pacer.Pacer
	Ledger  *ledger.Ledger
	Clock   *clock.Clock
	Epoch   time.Time     // the beginning of the schedule
	Started chan struct{} // closed when the subscribers hold their topics; Epoch is set before
	Halted  chan struct{} // closed when sending more has no use
}

// New makes a Course that has not started.
func New(due *pacer.Pacer) *Course {
	return &Course{Pacer: due, Clock: clock.New(), Started: make(chan struct{}), Halted: make(chan struct{})}
}

// Start releases the senders, from the epoch on.
func (c *Course) Start() {
	c.Ledger.Start(c.Clock.At(c.Epoch))
	c.Clock.Begin()
	close(c.Started)
}

// Elapsed is the time since the epoch; 0 before it.
func (c *Course) Elapsed() time.Duration {
	if !IsClosed(c.Started) {
		return 0
	}
	return max(0, time.Since(c.Epoch))
}

// IsHalted reports whether the load was halted.
func (c *Course) IsHalted() bool { return IsClosed(c.Halted) }

// IsClosed reports whether a channel on which nothing is sent is closed.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

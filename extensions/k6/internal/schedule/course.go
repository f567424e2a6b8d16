// Package schedule hands out the requests of a run: in the open model each when it is due, in the closed one when its sender has its turn.
package schedule

import (
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
)

// Course is what all parts of a run go by: what is due when, what became of it, and the time.
type Course struct {
	Pacer   *pacer.Pacer
	Ledger  *ledger.Ledger
	Clock   *clock.Clock
	Epoch   time.Time     // the beginning of the schedule
	Started chan struct{} // closed when the subscribers hold their topics; Epoch is set before
	Halted  chan struct{} // closed when there is no use in sending any more
}

// New makes one that has not started.
func New(due *pacer.Pacer) *Course {
	return &Course{Pacer: due, Clock: clock.New(), Started: make(chan struct{}), Halted: make(chan struct{})}
}

// Start lets the senders go, from the epoch on.
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

// IsHalted reports whether there is no use in sending any more.
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

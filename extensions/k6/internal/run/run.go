// Package run has the parts of a run that the sending, receiving and Redis packages share.
package run

import (
	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
)

// Parts are the shared parts of one instance of a run. All may be used from any goroutine.
type Parts struct {
	*schedule.Course // what is due when, the ledger, and the clock
	*Messages        // which request carries a message, and what it was sent with
	Notes            // errors and doubts

	ID      string           // the run's, which begins every message's
	Name    string           // names this instance's own things: its connections, its canary
	Profile *profile.Profile // with the instance's own targets
	Targets profile.Targets  // those of Profile, by number
	Bodies  *body.Bodies
}

// Notes take what the report says besides the account.
type Notes interface {
	// Count counts an error of a class, and may keep its example.
	Count(stage, class, example string)
	// Distrust makes the run invalid, with a reason in plain words.
	Distrust(format string, args ...any)
}

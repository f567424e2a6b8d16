// Package run is what those who send, receive and look up share of a run.
package run

import (
	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
)

// Parts are those of one instance of a run. Each guards itself, and the functions may be called from any goroutine.
type Parts struct {
	*schedule.Course // what is due when, the ledger, and the clock

	ID      string           // of the run
	Name    string           // of what is this instance's alone: its connections, its canary
	Profile *profile.Profile // with the instance's own targets
	Bodies  *body.Bodies

	Count    func(stage, class, example string) // adds one to a class of errors
	Distrust func(format string, args ...any)   // makes the run invalid, for a reason in plain words
}

// Package run has the parts of a run that the sending, receiving and Redis packages share.
package run

import (
	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
)

// Parts are the shared parts of one instance of a run. All may be used from any goroutine.
type Parts struct {
	*schedule.Course // what is due when, the ledger, and the clock

	ID      string           // of the run
	Name    string           // of this instance's own things: its connections, its canary
	Profile *profile.Profile // with the instance's own targets
	Targets profile.Targets  // of Profile, by number
	Bodies  *body.Bodies

	Count    func(stage, class, example string) // counts an error of a class
	Distrust func(format string, args ...any)   // makes the run invalid, with a reason in plain words
	Slot     func(seq int) pacer.Slot           // the request that carries a message
	// the bytes of one message in so many are compared; 0: what was sent is not known
	Verify func() int
	Sample func(payload []byte) // gets foreign messages, one of which the report shows
	// whether a message that came said for which target it is: else it can't have come to a wrong one
	Addressed func(seq int, payload []byte) bool
}

package engine

import (
	"regexp"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

const (
	// strangersPatience is how old the oldest message under way has to be where what comes has this run's id, in a form
	// that is not read. Other strangers may come by themselves, like heartbeats: then its age is the drain limit, within
	// which a message may arrive.
	strangersPatience = 5 * time.Second
	// strangersLeast is how many strangers halt the load.
	strangersLeast = 10
)

// ofAnotherRun matches the id of a message of any run, which may have been left in a queue.
var ofAnotherRun = regexp.MustCompile(`\b[0-9a-z]{4,32}\.[0-9]+\.[0-9]+\b`)

// strangers reports whether messages come and none is recognised while those of the load should have arrived, so that
// the rest of it would be lost too. age is that of the oldest message under way. Where one message has gone round, what
// comes is left from another run, or the load is over, the run waits for the end.
func (e *Engine) strangers(now time.Time) (n int, first string, age time.Duration) {
	n = e.Ledger.Strangers()
	sample := e.foreign.Load()
	taken, any := e.Ledger.FirstTaken()
	if n < strangersLeast || sample == nil || !any || e.greeted || e.Ledger.Settled() {
		return 0, "", 0
	}
	patience := strangersPatience
	if !e.carries(*sample) {
		if ofAnotherRun.Match(*sample) {
			return 0, "", 0
		}
		patience = max(patience, e.options.Drain.duration())
	}
	age = time.Duration(e.Clock.At(now)-taken) * time.Microsecond
	if age < patience {
		return 0, "", 0
	}
	return n, runfile.ExcerptOf(*sample), age
}

package arrival

import (
	"regexp"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

const (
	// strangersPatience is how long messages may come without one of this run among them.
	strangersPatience = 5 * time.Second
	// strangersLeast is how many of them halt the load.
	strangersLeast = 10
)

// ofAnotherRun matches the id of a message of any run, which may have been left in a queue.
var ofAnotherRun = regexp.MustCompile(`\b[0-9a-z]{4,32}\.[0-9]+\.[0-9]+\b`)

// strangers watches what comes from the first message on.
type strangers struct{ since time.Time }

// look reports whether messages come and none is recognised, so that the rest of the load would be lost too. Where one
// message has gone round, what comes is left from another run, or the load is over, it waits for the end.
func (s *strangers) look(e *engine, now time.Time) (n int, first string) {
	n = e.Ledger.Strangers()
	switch {
	case n == 0 || e.greeted || e.Ledger.Settled():
		return 0, ""
	case s.since.IsZero():
		s.since = now
		return 0, ""
	case n < strangersLeast || now.Sub(s.since) < strangersPatience:
		return 0, ""
	}
	sample := e.foreign.Load()
	if sample == nil || ofAnotherRun.Match(*sample) && !e.carries(*sample) {
		return 0, ""
	}
	return n, report.ExcerptOf(*sample)
}

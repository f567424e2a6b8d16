package facts

import (
	"fmt"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// Misdelivered is an example of a delivery at a recipient that it was not for, as the end of a sentence; empty: none is
// named.
func Misdelivered(r *runfile.Run) string {
	if r.Messages == nil {
		return ""
	}
	for _, m := range r.Messages.Named {
		if m.End == runfile.Misdeliveries {
			return fmt.Sprintf(", like %s for %s, which came to %s", m.ID, words.Printable(m.Target), words.Printable(m.CameTo))
		}
	}
	return ""
}

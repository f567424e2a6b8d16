package facts

import (
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// shareLeast is the share of a run's messages from which an end is said in per cent: below it their number says more.
const shareLeast = 0.01

// notArrived is what did not arrive of a run's messages; nil: everything did, or may still.
func notArrived(r *runfile.Run) *runfile.NotArrived {
	ends := runfile.Missed(r.Account)
	if len(ends) == 0 || r.Account.Scheduled == 0 {
		return nil
	}
	found := &runfile.NotArrived{}
	texts := make([]string, len(ends))
	for i, end := range ends {
		found.Messages += end.N
		texts[i] = words.Count(end.N) + " " + end.Name
		if share := float64(end.N) / float64(r.Account.Scheduled); share >= shareLeast {
			texts[i] = words.Percent(share) + " " + end.Name
		}
	}
	found.Share = float64(found.Messages) / float64(r.Account.Scheduled)
	found.Text = strings.Join(texts, ", ")
	return found
}

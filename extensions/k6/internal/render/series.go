package render

import (
	"fmt"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// series is a distribution that terminal and Markdown show of a run, in ms; their digits are those of num.
type series struct {
	name string
	runfile.Latency
	of   string // what a sample is
	note string // what the terminal shows in place of the number of samples
}

// seriesOf returns the distributions of the whole run, in the order of reports.
func seriesOf(r *runfile.Run) []series {
	all := []series{{"arrival", r.Latency.Arrival, "deliveries in the measured phases", ""}}
	if r.Run.Model != runfile.Closed { // in the closed model both figures are equal
		all = append(all, series{"from send", r.Latency.FromSend, "deliveries",
			"uncorrected: without the generator's lateness"})
	}
	return append(all, series{r.Run.Protocol, r.Latency.HTTP, "requests", ""})
}

// deliveries are the counts of deliveries, in a line.
func deliveries(r *runfile.Run, separator string) string {
	a := r.Account
	all := []string{fmt.Sprintf("%s of %s deliveries", words.Count(a.Deliveries.Arrived), words.Count(a.Deliveries.Due))}
	for _, count := range ledger.Beside {
		if n := count.Of(a); n > 0 || !count.Rare {
			all = append(all, words.Count(n)+" "+count.Name)
		}
	}
	return strings.Join(all, separator)
}

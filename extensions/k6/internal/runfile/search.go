package runfile

import (
	"fmt"

	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// SearchTitle is the title of the chart of a search for the capacity; empty: there was none.
func SearchTitle(probes []Probe) string {
	if len(probes) == 0 {
		return ""
	}
	held, least := 0.0, 0.0
	for _, p := range probes {
		if p.Held {
			held = max(held, p.Rate)
		}
	}
	for _, p := range probes {
		if !p.Held && p.Rate > held && (least == 0 || p.Rate < least) {
			least = p.Rate
		}
	}
	above := ""
	if least > 0 {
		above = fmt.Sprintf("; %s requests/s did not", words.Figure(&least))
	}
	return fmt.Sprintf("%s requests/s held%s, after %s", words.Figure(&held), above, words.Plural(len(probes), "run"))
}

package runfile

import (
	"encoding/json"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// Campaign is what many runs found out together: figures, as if the script of the run that they are added to had
// measured them, and the probes of a search.
type Campaign struct {
	Figures []Figure `json:"figures"`
	Probes  []Probe  `json:"probes"`
}

// CampaignOf reads a Campaign from JSON. The error says what is wrong with it, without its name.
func CampaignOf(data []byte) (found Campaign, err error) {
	s, err := campaignSchema()
	if err != nil {
		return found, err
	}
	document, err := onlyValue(data)
	if err == nil {
		err = firstFault(s, document, nil)
	}
	if err == nil {
		err = json.Unmarshal(document, &found)
	}
	return found, err
}

// SearchTitle is the title of the chart of a search for the capacity; empty: there was none.
func SearchTitle(probes []Probe) string {
	if len(probes) == 0 {
		return ""
	}
	held, least, decided := 0.0, 0.0, false // decided: a run at the least rate above did not hold
	for _, p := range probes {
		if p.Held {
			held = max(held, p.Rate)
		}
	}
	for _, p := range probes {
		switch {
		case p.Held || p.Rate <= held:
		case least == 0 || p.Rate < least:
			least, decided = p.Rate, !p.Undecided
		case p.Rate == least:
			decided = decided || !p.Undecided
		}
	}
	title, above := "No rate held", ""
	if held > 0 {
		title = words.Rate(held, "requests") + " held"
	}
	switch {
	case decided:
		above = "; " + words.Rate(least, "requests") + " did not"
	case least > 0:
		above = "; " + words.Rate(least, "requests") + " is undecided and may hold"
	}
	return title + above + ", after " + words.Plural(len(probes), "run")
}

// WithSearch puts the result of a search for the capacity before the answer of a run of it; without a search it is the
// answer alone. An answer that is not a rate stays as it is.
func WithSearch(r *Run, probes []Probe, answer string) string {
	if len(probes) == 0 || r.Verdict.Result != Pass && r.Verdict.Result != Fail {
		return answer
	}
	this := ". This run: " + answer
	if rate, held := strings.CutPrefix(answer, "Held "); held {
		this = ". This run held " + rate
	}
	return SearchTitle(probes) + this
}

package runfile

import "encoding/json"

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

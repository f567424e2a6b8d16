package runfile

import "github.com/arrival-bench/arrival/extensions/k6/internal/ledger"

// Ending is how many messages ended in one way.
type Ending struct {
	N    int
	Name string
}

// Missed are the ways in which messages did not arrive, in the order of the message's way, without those of none.
func Missed(a Account) (all []Ending) {
	for _, end := range ledger.MissedEnds() {
		if n := end.Of(a); n > 0 {
			all = append(all, Ending{n, end.Word()})
		}
	}
	return all
}

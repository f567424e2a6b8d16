package report

import "slices"

// Ending is how many messages ended in one way.
type Ending struct {
	N    int
	Name string
}

// Missed are the ways in which messages did not arrive, in the order of the message's way, without those of
// none.
func Missed(a Account) []Ending {
	return slices.DeleteFunc([]Ending{
		{a.Dropped, "dropped"}, {a.Rejected, "rejected"}, {a.Unknown, "unknown"}, {a.Altered, "altered"},
		{a.DeadLettered, "dead-lettered"},
		{a.Queued, "queued"}, {a.Lost, "lost"},
	}, func(e Ending) bool { return e.N == 0 })
}

package ledger

import "strings"

// Count is a count of an account.
type Count struct {
	Name   string // in run.json
	Metric bool   // k6 has it as arrival_<name>
	Rare   bool   // reports show it only where there are any
	Judged Judged
	Reason string // what a verdict says after their number; empty: the name says it
	at     func(*Account) *int
}

// Of is the count in an account.
func (c Count) Of(a Account) int { return *c.at(&a) }

// Word is the name as reports print it: dead-lettered.
func (c Count) Word() string { return strings.ReplaceAll(c.Name, "_", "-") }

// Judged says which runs have a limit of 0 on a count.
type Judged int

// The runs that have a limit of 0 on a count.
const (
	Never    Judged = iota // none
	Always                 // every run; a script's own threshold replaces the limit
	Promised               // those that promise the delivery of what was accepted
)

// EndCount is the count of an end. Each scheduled message has one end.
type EndCount struct {
	Count
	Stage  string // stage of this pipeline where the message left its way; empty: the end does not say it
	Missed bool   // the message did not reach its subscribers
	Failed bool   // it missed them by the pipeline's doing
	Open   bool   // no end yet: in a run that was cut off
}

// String is the end's name in run.json.
func (e End) String() string { return Ends[e].Name }

// RunningEnds are the ends that a message may have before the run's end (see Running).
var RunningEnds = []End{EndArrived, EndRejected, EndDropped}

// MissedEnds are the ends of messages that did not reach their subscribers, in the order of the message's way.
func MissedEnds() (all []EndCount) {
	for _, end := range Ends {
		if end.Missed {
			all = append(all, end)
		}
	}
	return all
}

// JudgedCounts are the counts with a limit of 0 in those runs.
func JudgedCounts(where Judged) (all []Count) {
	for _, end := range Ends {
		if end.Judged == where {
			all = append(all, end.Count)
		}
	}
	for _, count := range Beside {
		if count.Judged == where {
			all = append(all, count)
		}
	}
	return all
}

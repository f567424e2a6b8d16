package runfile

import (
	"cmp"
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
)

// Messages are the single messages that the report lists.
type Messages struct {
	Slowest []Slow  `json:"slowest"` // deliveries of the measured phases, slowest first; never nil
	Named   []Named `json:"named"`   // messages that did not arrive, and deliveries that count beside; never nil
}

// Slow is one of the slowest deliveries.
type Slow struct {
	ID         string             `json:"id"`
	Trace      string             `json:"trace,omitempty"` // its id; empty: none
	Target     string             `json:"target"`
	Flow       string             `json:"flow"`
	Phase      string             `json:"phase"`
	Subscriber int                `json:"subscriber"` // from 1
	Due        string             `json:"due"`        // UTC, µs
	ArrivalMS  float64            `json:"arrival_ms"`
	StagesMS   map[string]float64 `json:"stages_ms"` // the known ones; all of them sum to ArrivalMS
	Longest    *Longest           `json:"longest"`   // nil: not known
}

// Misdeliveries is the count of deliveries at a recipient that their message was not for.
const Misdeliveries = "misdeliveries"

// Named is a message that did not arrive, or a duplicate, misplaced or negative delivery.
type Named struct {
	ID    string `json:"id"`
	Trace string `json:"trace,omitempty"` // its id; empty: none
	// End is a failed end of the account, duplicates, misdeliveries or negative.
	End       string  `json:"end"`
	Target    string  `json:"target"`
	CameTo    string  `json:"came_to,omitempty"` // the target or subscriber that it came to instead
	Flow      string  `json:"flow"`
	Phase     *string `json:"phase"`     // nil: unknown
	Due       *string `json:"due"`       // nil: unknown
	Delivered *int    `json:"delivered"` // number of subscribers that got it; nil: the row is a delivery
}

// MergeMessages merges the messages of several parts of a run; nil if a part has not ended.
func MergeMessages(parts []*Messages) *Messages {
	all := &Messages{Slowest: []Slow{}, Named: []Named{}}
	for _, p := range parts {
		if p == nil {
			return nil
		}
		all.Slowest = append(all.Slowest, p.Slowest...)
		all.Named = append(all.Named, p.Named...)
	}
	slices.SortStableFunc(all.Slowest, func(a, b Slow) int { return cmp.Compare(b.ArrivalMS, a.ArrivalMS) })
	rank, ofOne, ofEnd := 0, map[[2]string]int{}, map[string]int{}
	all.Slowest = slices.DeleteFunc(all.Slowest, func(s Slow) bool {
		rank++
		ofOne[[2]string{s.Phase, s.Flow}]++
		return rank > ledger.SlowestOfAll && ofOne[[2]string{s.Phase, s.Flow}] > ledger.SlowestOfEach
	})
	all.Named = slices.DeleteFunc(all.Named,
		func(n Named) bool { ofEnd[n.End]++; return ofEnd[n.End] > ledger.NamedOfEach })
	return all
}

// Tail describes the slowest deliveries of the measured phases.
type Tail struct {
	// deliveries: the slowest 1 %, and those within 1.6 % of the fastest of them
	Count    int64              `json:"count"`
	Of       int64              `json:"of"`        // deliveries whose stages are known
	MeanMS   float64            `json:"mean_ms"`   // mean arrival of these deliveries
	StagesMS map[string]float64 `json:"stages_ms"` // means, which sum to MeanMS
}

// tailShare is the share of the deliveries that a Tail describes.
const tailShare = 0.01

// NewTail describes the tail of a ledger; nil if fewer than a hundred deliveries have stages.
func NewTail(l *ledger.Ledger) *Tail {
	t := l.Tail(tailShare)
	if t.Of < 1/tailShare {
		return nil
	}
	tail := &Tail{Count: t.Count, Of: t.Of, MeanMS: t.Arrival / 1000, StagesMS: map[string]float64{}}
	for i, stage := range l.Stages() {
		tail.StagesMS[stage.Name] = t.Stages[i] / 1000
	}
	return tail
}

// MergeTails averages the tails of several parts of a run; nil if a part has none.
func MergeTails(parts []*Tail) *Tail {
	all := &Tail{StagesMS: map[string]float64{}}
	for _, p := range parts {
		if p == nil {
			return nil
		}
		all.Count, all.Of = all.Count+p.Count, all.Of+p.Of
	}
	for _, p := range parts {
		weight := float64(p.Count) / float64(all.Count)
		all.MeanMS += p.MeanMS * weight
		for stage, mean := range p.StagesMS {
			all.StagesMS[stage] += mean * weight
		}
	}
	return all
}

// Ending is how many messages ended in one way.
type Ending struct {
	N    int
	Name string
}

// Missed are the ways in which messages did not arrive, in the order of the message's way. Ways without any are left
// out.
func Missed(a Account) (all []Ending) {
	for _, end := range ledger.MissedEnds() {
		if n := end.Of(a); n > 0 {
			all = append(all, Ending{n, end.Word()})
		}
	}
	return all
}

// Package merge makes one run of what several instances have left that did it together, each a segment of it. Nothing is estimated:
// counts are added, histograms count by count, and internal/judge judges the whole.
package merge

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// Part is the record of one instance.
type Part struct {
	Run *report.Run
	Log *report.Log
}

func (p Part) generator() *report.Generator { return p.Run.Run.Generator }

func read(dir string) (Part, error) {
	r, err := report.Read(dir)
	if err != nil {
		return Part{}, err
	}
	if r.Run.Generator == nil {
		what := "is a run of one instance"
		if r.Generators != nil {
			what = "has been merged already"
		}
		return Part{}, fmt.Errorf("%s %s; merge takes what each instance of a run by segments has left", dir, what)
	}
	if g := r.Run.Generator; g.Number < 1 || g.Number > g.Of {
		return Part{}, fmt.Errorf("%s is of generator %d of %d", dir, g.Number, g.Of)
	}
	if r.Verdict.Rules == nil {
		return Part{}, fmt.Errorf("%s is a run of an earlier version, without the rules that it was judged by: that version can merge it", dir)
	}
	log, err := report.OpenLog(dir)
	return Part{r, log}, err
}

// order sorts the parts by their numbers. It refuses those that are not of one run, and one that is there twice.
func order(parts []Part) error {
	if len(parts) == 0 {
		return errors.New("there is nothing to merge")
	}
	slices.SortStableFunc(parts, func(a, b Part) int { return cmp.Compare(a.generator().Number, b.generator().Number) })
	first := parts[0]
	for i, part := range parts[1:] {
		number := part.generator().Number
		if number == parts[i].generator().Number {
			return fmt.Errorf("generator %d is there twice", number)
		}
		for _, same := range inCommon {
			if mine, its := same.of(first), same.of(part); mine != its {
				known := ""
				if len(mine)+len(its) < 100 {
					known = fmt.Sprintf(" (%s, not %s)", its, mine)
				}
				return fmt.Errorf("generator %d has another %s than generator %d%s", number, same.what, first.generator().Number, known)
			}
		}
	}
	return nil
}

// inCommon is what the parts of one run share. The start is that on the clock of Redis: with it the seconds of all are the same.
var inCommon = []struct {
	what string
	of   func(p Part) string
}{
	{"run", func(p Part) string { return p.Run.Run.ID }},
	{"sequence of segments", func(p Part) string { return p.generator().Sequence }},
	{"start", func(p Part) string { return strconv.FormatInt(p.generator().StartUS, 10) }},
	{"profile", func(p Part) string {
		text, _ := json.Marshal(p.Run.Run.Profile) // numbers and strings that were JSON before
		return string(text)
	}},
	{"method", func(p Part) string { return p.Run.Run.Method }},
	{"version of k6", func(p Part) string { return p.Run.Run.Tool.Version }},
}

// requests are those of an open profile, as the pacer counts them; 0 in the closed model, where nobody knows beforehand.
func requests(run report.Identity) int {
	if run.Model == report.Closed {
		return 0
	}
	p := &profile.Profile{Flows: []profile.Flow{{Weight: 1, Messages: 1}}}
	for _, phase := range run.Profile.Phases {
		ph := profile.Phase{Duration: time.Duration(phase.DurationS * float64(time.Second))}
		if phase.ArrivalRate != nil {
			ph.Rate, ph.RampTo = *phase.ArrivalRate, *cmp.Or(phase.RampTo, phase.ArrivalRate)
		}
		p.Phases = append(p.Phases, ph)
	}
	return pacer.New(p).Requests()
}

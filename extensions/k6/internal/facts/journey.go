package facts

import (
	"math"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// DivideTime sets the facts of a run about its stages: where the time went, and where messages were lost. Stages that
// come later, as spans do, change them.
func DivideTime(r *runfile.Run) {
	f := &r.Facts
	f.SpanStages = spanRows(r)
	f.SpanHead, f.SpanLeft = "", ""
	if r.Spans != nil {
		f.SpanHead, f.SpanLeft = words.Capital(r.Spans.Head()), r.Spans.Left()
	}
	f.Journey = journey(r)
	f.LargestStage = largestStage(r)
	f.SlowestStage = nil
	f.Losses = losses(r)
	if r.Messages == nil {
		return
	}
	for i := range r.Messages.Slowest {
		s := &r.Messages.Slowest[i]
		s.Longest = longest(r, s.StagesMS, s.ArrivalMS)
	}
	if len(r.Messages.Slowest) > 0 {
		f.SlowestStage = r.Messages.Slowest[0].Longest
	}
}

// roundingMS is how far rounding to µs may move a sum of means.
const roundingMS = 0.001

// journey picks the stages that divide the arrivals of a run: those of the stamps, else of spans, else the schedule and
// the rest.
func journey(r *runfile.Run) runfile.Journey {
	of := scopeOf(r)
	j := runfile.Journey{MeanMS: of.Arrival.Mean, Of: of.about}
	switch {
	case r.Stamped():
		j.Source, j.Stages = runfile.ByStamps, stampRows(r, of)
		if r.Tail != nil && of.step == nil {
			j.SlowMeanMS = &r.Tail.MeanMS
		}
	case len(r.Facts.SpanStages) > 0:
		j.Source, j.Stages, j.MeanMS, j.Of = runfile.BySpans, r.Facts.SpanStages, r.Spans.Arrival.Mean, ""
	default:
		j.Source, j.Stages = runfile.NoSource, undividedRows(r, of)
	}
	for _, row := range j.Stages {
		if row.MeanMS == nil {
			continue
		}
		if j.SumMS == nil {
			j.SumMS, j.Samples = new(0.0), row.Count
		}
		*j.SumMS, j.Samples = *j.SumMS+*row.MeanMS, min(j.Samples, row.Count)
	}
	if j.Covers = shareOf(j.SumMS, j.MeanMS); j.Covers != nil && math.Abs(*j.SumMS-*j.MeanMS) <= roundingMS {
		j.Covers = new(1.0)
	}
	return j
}

// stampRows are the stages by the stamps that messages carried.
func stampRows(r *runfile.Run, of scope) []runfile.StageRow {
	rows := []runfile.StageRow{}
	for _, stage := range r.Stages {
		row := rowOf(of, stage.Name, stage.From, stage.To, of.Stages[stage.Name])
		row.Says, row.BoundMS = stage.Says, r.BoundOf(stage)
		if t := r.Tail; t != nil && of.step == nil {
			row.SlowMeanMS = new(t.StagesMS[stage.Name])
			row.SlowShare = shareOf(row.SlowMeanMS, &t.MeanMS)
		}
		rows = append(rows, row)
	}
	return rows
}

// spanRows are the stages by the spans of the pipeline's own traces.
func spanRows(r *runfile.Run) []runfile.StageRow {
	rows := []runfile.StageRow{}
	if r.Spans == nil {
		return rows
	}
	for _, stage := range r.Spans.Stages {
		rows = append(rows, runfile.StageRow{
			Name: stage.From + " → " + stage.To, From: stage.From, To: stage.To, Count: r.Spans.Count,
			MeanMS: stage.Mean, ErrorMS: stage.Error, P50MS: stage.P50, P99MS: stage.P99, MaxMS: stage.Max,
			Share: shareOf(stage.Mean, r.Spans.Arrival.Mean), BoundMS: stage.BoundMS(),
		})
	}
	return rows
}

// undividedRows are the schedule, and all that follows it as one.
func undividedRows(r *runfile.Run, of scope) []runfile.StageRow {
	first, l := stages.Default()[0], of.Latencies // every list begins with the schedule
	schedule := rowOf(of, first.Name, first.From, first.To, l.Stages[first.Name])
	schedule.Says = first.Says
	return []runfile.StageRow{schedule, rowOf(of, r.Stages.Rest(), first.To, "arrived", l.FromSend)}
}

func rowOf(of scope, name, from, to string, l runfile.Latency) runfile.StageRow {
	return runfile.StageRow{
		Name: name, From: from, To: to, Count: l.Count, MeanMS: l.Mean, P50MS: l.At(50), P99MS: l.At(99), MaxMS: l.Max,
		Share: shareOf(l.Mean, of.Arrival.Mean),
	}
}

// shareOf is a part of a whole; nil: one of them is not known.
func shareOf(part, whole *float64) *float64 {
	if part == nil || whole == nil || *whole <= 0 {
		return nil
	}
	return new(*part / *whole)
}

// largestStage is the stage with the largest part of the mean arrival.
func largestStage(r *runfile.Run) (most *runfile.Longest) {
	j := r.Facts.Journey
	if j.MeanMS == nil {
		return nil
	}
	if j.Source != runfile.BySpans {
		means := map[string]float64{}
		for _, row := range j.Stages {
			if row.MeanMS != nil {
				means[row.Name] = *row.MeanMS
			}
		}
		return longest(r, means, *j.MeanMS)
	}
	for _, row := range j.Stages {
		if row.MeanMS != nil && row.Share != nil && (most == nil || *row.MeanMS > most.MS) {
			most = &runfile.Longest{Stage: row.Name, MS: *row.MeanMS, Share: *row.Share}
		}
	}
	return most
}

// longest is the stage that took most of a time of which some stages are known. What the known ones leave over has no
// stage: if that is more than each of them, everything after the schedule is named as one. It is nil if no stage is
// known.
func longest(r *runfile.Run, known map[string]float64, wholeMS float64) *runfile.Longest {
	left, most := wholeMS, ""
	for _, stage := range r.Stages {
		ms, ok := known[stage.Name]
		if !ok {
			continue
		}
		left -= ms
		if most == "" || ms > known[most] {
			most = stage.Name
		}
	}
	if most == "" || wholeMS <= 0 {
		return nil
	}
	found := runfile.Longest{Stage: most, MS: known[most]}
	if left > found.MS {
		found = runfile.Longest{Stage: r.Stages.Rest(), MS: wholeMS - known[stages.Schedule]}
	}
	found.Share = found.MS / wholeMS
	return &found
}

// longestOfSecond is the stage that took most of the deliveries of a second; nil: the stages of most of them are not
// known.
func longestOfSecond(r *runfile.Run, s *runfile.Interval) *runfile.Longest {
	if s.Arrival == nil || s.Stamped > 0 && 2*s.Stamped < s.Arrival.Count {
		return nil
	}
	whole := 0.0
	for _, ms := range s.Stages {
		whole += ms
	}
	if s.Stamped == 0 || len(s.Stages) < len(r.Stages) { // a pipeline without stamps, or with some of them
		whole = max(whole, s.Arrival.Mean)
	}
	return longest(r, s.Stages, whole)
}

package facts

import (
	"cmp"
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

const (
	waitingMuch = 0.8 // senders wait when this share of the requests that they can have in flight is
	knownMuch   = 0.5 // stages that cover less of the slow part's time name none
)

// bottleneck is what the pipeline, or the generator, gave way at in a run that refused messages or broke a limit on the
// latency of arrivals; nil: it did neither, or its stages are not known.
func bottleneck(r *runfile.Run) *runfile.Bottleneck {
	if r.Account.Rejected > 0 {
		stage := stageOr(r, "ingest", 1)
		if stage != "ingest" {
			return &runfile.Bottleneck{Stage: stage, Text: "requests, which were refused"}
		}
		return &runfile.Bottleneck{Stage: stage, Text: "ingest, which refused messages"}
	}
	if !slices.ContainsFunc(r.Verdict.Rules, tooSlowBy) {
		return nil
	}
	longest := longestStages(r)
	switch {
	case len(longest) == 0:
		return nil
	case longest[0] != stages.Schedule:
		return &runfile.Bottleneck{Stage: longest[0], Text: longest[0]}
	case sendersWaited(r):
		return &runfile.Bottleneck{Stage: stageOr(r, "request", 1), Text: "request: all senders waited for answers"}
	case scene(r).InFlight == 0: // a merged run does not know how many senders it had
		return &runfile.Bottleneck{Stage: stages.Schedule,
			Text: "schedule: the generator, or answers that its senders waited for"}
	case !sharesHost(r):
		return &runfile.Bottleneck{Stage: stages.Schedule, Text: "schedule: the generator, not the pipeline"}
	}
	text := "schedule: the generator, which shares its cores with the pipeline"
	if len(longest) > 1 {
		text += "; of the pipeline " + longest[1]
	}
	return &runfile.Bottleneck{Stage: stages.Schedule, Text: text}
}

// stageOr is a stage of our pipeline, if the run has it, or else the n-th stage that the run has.
func stageOr(r *runfile.Run, name string, n int) string {
	if slices.ContainsFunc(r.Stages, func(s stages.Stage) bool { return s.Name == name }) || len(r.Stages) <= n {
		return name
	}
	return r.Stages[n].Name
}

// tooSlowBy reports whether a rule is a broken limit on the latency of arrivals, or on the backlog, which is latency to
// come.
func tooSlowBy(rule runfile.Rule) bool {
	if !rule.IsBroken() || rule.Result != runfile.Fail {
		return false
	}
	_, _, within := runfile.WithinMetric(rule.Name)
	return within || onP99(rule) || rule.Name == backlogRule
}

// backlogRule is the limit on the growth of the backlog of a search for the capacity.
const backlogRule = "backlog_growth"

// longestStages are the stages by their part of the slow deliveries' time, the longest first. Without a tail they are
// those of all deliveries. There are none where the stages cover too little of the time.
func longestStages(r *runfile.Run) []string {
	times, whole := map[string]float64{}, 0.0
	if r.Tail != nil && len(r.Tail.StagesMS) > 0 {
		times, whole = r.Tail.StagesMS, r.Tail.MeanMS
	} else {
		for name, latency := range r.Latency.Stages {
			if latency.Mean != nil {
				times[name] = *latency.Mean
			}
		}
		if mean := r.Latency.Arrival.Mean; mean != nil {
			whole = *mean
		}
	}
	known := 0.0
	var names []string
	for _, stage := range r.Stages {
		if ms := times[stage.Name]; ms > 0 {
			known, names = known+ms, append(names, stage.Name)
		}
	}
	if known < knownMuch*whole {
		return nil
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(times[b], times[a]) })
	return names
}

// sendersWaited reports whether nearly all requests that the senders can have in flight were, in the first measured
// phase: by Little's law, their rate times their mean latency.
func sendersWaited(r *runfile.Run) bool {
	most := scene(r).InFlight
	for i := range r.Steps {
		s := &r.Steps[i]
		if !s.Measured || s.DurationS <= 0 {
			continue
		}
		mean := s.Latency.HTTP.Mean
		return most > 0 && mean != nil && float64(s.Requests)/s.DurationS**mean/1000 > waitingMuch*float64(most)
	}
	return false
}

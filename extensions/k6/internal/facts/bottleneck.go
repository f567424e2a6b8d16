package facts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
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
	return slowStage(r)
}

// slowStage is where a run that broke a limit on the latency of arrivals gave way; nil: it broke none, or its stages
// are not known.
func slowStage(r *runfile.Run) *runfile.Bottleneck {
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

// stageTimes are the mean times of the slow deliveries' stages, and of these deliveries, in ms. Without a tail they are
// those of all deliveries.
func stageTimes(r *runfile.Run) (times map[string]float64, whole float64) {
	if r.Tail != nil && len(r.Tail.StagesMS) > 0 {
		return r.Tail.StagesMS, r.Tail.MeanMS
	}
	times = map[string]float64{}
	for name, latency := range r.Latency.Stages {
		if latency.Mean != nil {
			times[name] = *latency.Mean
		}
	}
	if mean := r.Latency.Arrival.Mean; mean != nil {
		whole = *mean
	}
	return times, whole
}

// longestStages are the stages by their part of the slow deliveries' time, the longest first. There are none where the
// stages cover too little of the time.
func longestStages(r *runfile.Run) []string {
	times, whole := stageTimes(r)
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

// stageCauses say why a stage of our pipeline takes most of the time.
var stageCauses = map[string]string{
	stages.Schedule: "the generator was behind its schedule",
	"request":       "the ingest, or the network before it, was slow to take requests",
	"ingest":        "Redis was slow to confirm, or the ingest was busy",
	"queue":         "messages waited for a free relay",
	"relay":         "the broker was slow to confirm, or the relay was busy",
	"delivery":      "the broker, the network or the subscriber was slow",
}

// slowBy says which stage took most of the time of a run that was too slow, how much of it, and why; empty: the run was
// not too slow, or its stages are not known.
func slowBy(r *runfile.Run) string {
	b := slowStage(r)
	if b == nil {
		return ""
	}
	times, whole := stageTimes(r)
	if whole <= 0 || times[b.Stage] <= 0 {
		return ""
	}
	stage, ms, why := b.Stage, times[b.Stage], stageCauses[b.Stage]
	switch {
	case b.Stage == "queue" && len(grownBacklogs(r)) > 0:
		why = "more came than the relay carried"
	case times[stages.Schedule] > ms && sendersWaited(r):
		stage, ms = "schedule and "+b.Stage, ms+times[stages.Schedule]
		why = "all senders waited for answers"
	case b.Stage == stages.Schedule && strings.HasPrefix(b.Text, stages.Schedule+": "):
		why = strings.TrimPrefix(b.Text, stages.Schedule+": ")
	}
	if h := host(r); h != nil {
		if from, to := fullSpan(h); from >= 0 {
			why = joined("; ", why, fmt.Sprintf("the host was saturated from %s to %s", moment(from), moment(to)))
		}
	}
	of := "of the time"
	if r.Tail != nil && len(r.Tail.StagesMS) > 0 {
		of = "of the time of the slowest 1 %"
	}
	return joined(": ", fmt.Sprintf("%s took %s %s", words.Capital(stage), words.Percent(min(1, ms/whole)), of), why) + "."
}

package thresholds

import (
	"maps"
	"slices"

	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// NoteAbort notes the limits with abortOnFail that ended the test. Call it when k6 has ended the test early: k6 sets
// the mark of such a metric before, and may set others when it judges all limits at the end.
func (j *Judgement) NoteAbort(registry *metrics.Registry) {
	if registry == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	look := find(registry)
	for _, name := range slices.Sorted(maps.Keys(j.thresholds)) {
		if m := look(name); m != nil && m.Thresholds.Abort {
			j.aborting = append(j.aborting, name)
		}
	}
}

// Aborted returns the broken limits with abortOnFail that ended the test, with their values once Conclude was called.
func (j *Judgement) Aborted() (ended []runfile.Rule) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, name := range j.aborting {
		var crossed, all []runfile.Rule
		for _, t := range j.thresholds[name].Thresholds {
			if !t.AbortOnFail {
				continue
			}
			rule := j.limits.rule(name, t.Source)
			if rule.IsBroken() {
				crossed = append(crossed, rule)
			}
			if rule.OK == nil {
				rule.OK, rule.Reason = new(false), rule.Broken()
			}
			all = append(all, rule)
		}
		if len(crossed) == 0 { // its figure has recovered since, or is not known yet
			crossed = all
		}
		ended = append(ended, crossed...)
	}
	return ended
}

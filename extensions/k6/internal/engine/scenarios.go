package engine

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/segment"
)

// senderScenario is the name of the scenario that sends, unless a script has its own.
const senderScenario = "sender"

// startup is the longest time for connecting and subscribing before k6's clock for the load begins.
const startup = 30 * time.Second

// startup is the longest time before the load begins.
func (e *Engine) startup() time.Duration {
	if e.segment.Alone() {
		return startup
	}
	return startup + e.options.Gather.duration() + segment.StartDelay
}

// Scenarios returns one VU that collects, and the VUs that send.
func (e *Engine) Scenarios(pump bool) map[string]any {
	o, s := e.options, e.segment
	retries := time.Duration(o.Ingest.Retries)
	patience := (1+retries)*o.Timeout.duration() + retries*retryAfterMost
	load := e.startup() + o.profile.Duration() + o.profile.Drains() + e.instance.waits() + patience
	most := load + schedule.LateLimit + o.Drain.duration() + startup
	executor, vus, iterations, late := "per-vu-iterations", min(max(1, s.Scale(o.Senders)), e.Pacer.Requests()), 1,
		schedule.LateLimit
	switch {
	case e.sending.turns != nil: // each has one iteration, as long as the load
		vus, late = s.Scale(o.profile.Most()), 0
		if pump {
			vus = (vus + o.InFlight - 1) / o.InFlight
		}
	case o.Publishers != nil:
		vus = 1
	case !pump: // one iteration a request, so that k6's progress bar is right
		executor, iterations = "shared-iterations", s.UnscaleShared(e.Pacer.Requests(), s.Unscale(vus))
	}
	scenarios := map[string]any{
		"subscriber": map[string]any{
			"executor": "per-vu-iterations", "exec": "subscriber", "vus": s.Unscale(1), "iterations": 1,
			"maxDuration": wholeSeconds(most), "gracefulStop": "0s",
		},
		senderScenario: map[string]any{
			"executor": executor, "exec": "sender", "vus": s.Unscale(vus), "iterations": iterations,
			"maxDuration": wholeSeconds(load + late), "gracefulStop": wholeSeconds(patience),
		},
	}
	if n := e.consumers.Wanted; n > 0 {
		scenarios["consumer"] = map[string]any{
			"executor": "per-vu-iterations", "exec": "consumer", "vus": n, "iterations": 1,
			"maxDuration": wholeSeconds(most), "gracefulStop": wholeSeconds(ConsumersLast),
		}
	}
	return scenarios
}

func wholeSeconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10) + "s"
}

// Thresholds returns the thresholds of every run, and the script's own, in k6's form. registry is nil where k6 takes no
// metrics.
func (e *Engine) Thresholds(registry *metrics.Registry, own map[string]any) (map[string]any, error) {
	if registry != nil {
		var err error
		if own, err = e.judging.within.thresholds(registry, own); err != nil {
			return nil, err
		}
	}
	all := map[string]any{}
	for name, expressions := range e.judging.builtIn() {
		all[name] = expressions
	}
	maps.Copy(all, own)
	return all, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

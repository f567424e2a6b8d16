package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
)

const (
	paceRounds      = 4
	paceConcurrency = 10   // requests in flight, to fill the cores
	paceBacklog     = 200  // queued messages from which on the ingest delays its answers
	paceRate        = 1500 // requests/s that do not fill the cores
)

type paceResult struct {
	rate     float64            // messages/s
	p50, p99 float64            // arrival, ms
	stages   map[string]float64 // p50 of each stage, ms
}

// pace compares a pipeline that drains before it fills (PRIORITY=drain) with one whose processes have equal priority.
func pace(b *bench) []figure {
	none := b.startStack("PRIORITY=none")
	drain := b.startStack("PRIORITY=drain", fmt.Sprintf("THROTTLE_BACKLOG=%d", paceBacklog))
	closed := fmt.Sprintf("phases: [{name: load, duration: %g, vus: %d}]\nflows: [{name: one}]\n",
		b.runSeconds(), paceConcurrency)
	defer b.prioritizeK6(false)
	var full, light [2][]paceResult // none and drain
	for round := range paceRounds {
		for i := range 2 {
			i = (i + round) % 2
			s := []*stack{none, drain}[i]
			b.prioritizeK6(i == 1)
			full[i] = append(full[i], b.paceOf(s, closed))
			light[i] = append(light[i], b.paceOf(s, phase(b.runSeconds(), paceRate, "")))
		}
		was, is := full[0][round], full[1][round]
		b.say("round %d of %d: arrival p99 %.1f and %.1f ms at %.0f and %.0f/s with %d under way, load average %s",
			round+1, paceRounds, was.p99, is.p99, was.rate, is.rate, paceConcurrency, loadAverage())
	}
	compared := func(runs [2][]paceResult, row, unit string, limit float64, of func(paceResult) float64) figure {
		ratios := make([]float64, paceRounds)
		for round := range ratios {
			ratios[round] = of(runs[1][round]) / of(runs[0][round])
		}
		return figure{
			row: row, limit: limit, ratio: median(ratios),
			baseline: side{"PRIORITY=none", medianOf(runs[0], of), unit},
			ours:     side{"drain, throttled", medianOf(runs[1], of), unit},
		}
	}
	p50, p99 := func(p paceResult) float64 { return p.p50 }, func(p paceResult) float64 { return p.p99 }
	late := compared(full, "p99", "ms", 0.25, p99)
	late.note("arrival with %d requests under way, %d rounds with both sides in each; p50 %s and %s ms",
		paceConcurrency, paceRounds, significant(medianOf(full[0], p50)), significant(medianOf(full[1], p50)))
	rate := compared(full, "rate", "/s", 0.9, func(p paceResult) float64 { return p.rate })
	rate.atLeast = true
	few := compared(light, fmt.Sprintf("%d/s", paceRate), "ms", 1.1, p50)
	var stages []string
	for _, stage := range []string{"request", "ingest", "queue", "relay", "delivery"} {
		f := compared(light, "", "", 0, func(p paceResult) float64 { return p.stages[stage] })
		was, is := significant(f.baseline.value), significant(f.ours.value)
		stages = append(stages, fmt.Sprintf("%s %s → %s", stage, was, is))
	}
	few.note("arrival p50; its stages' p50, ms: %s; arrival p99 %s → %s ms", strings.Join(stages, ", "),
		significant(medianOf(light[0], p99)), significant(medianOf(light[1], p99)))
	return []figure{late, rate, few}
}

func medianOf(runs []paceResult, of func(paceResult) float64) float64 {
	values := make([]float64, 0, len(runs))
	for _, p := range runs {
		values = append(values, of(p))
	}
	return median(values)
}

// prioritizeK6 raises or resets k6's priority, as npm run scenario does with PRIORITY=drain: k6 shares the session
// of the bench. Without the right to do so nothing changes, and the stack lowers the priority of its ingest instead.
func (b *bench) prioritizeK6(yes bool) {
	nice := "0"
	if yes {
		nice = "-5"
	}
	_ = os.WriteFile("/proc/self/autogroup", []byte(nice), 0)
}

func (b *bench) paceOf(s *stack, profile string) paceResult {
	p := b.arrival(options{
		"profile": profile, "senders": measuringSenders, "inFlight": paceConcurrency, "canary": false,
		"ingest": options{"url": s.Ingest.URL, "token": s.Ingest.Token}, "mqtt": options{"url": s.mqttURL()},
		"redis": options{"url": s.Redis.URL},
	}, true)
	b.finish(p)
	type times struct{ P50, P99 float64 }
	var run struct {
		Steps []struct {
			Rate float64 `json:"arrived_per_s"`
		}
		Latency struct {
			Arrival times
			Stages  map[string]times
		}
	}
	must.Do(json.Unmarshal(must.Get(os.ReadFile(p.report)), &run))
	arrival := run.Latency.Arrival
	of := paceResult{rate: run.Steps[0].Rate, p50: arrival.P50, p99: arrival.P99, stages: map[string]float64{}}
	for name, t := range run.Latency.Stages {
		of.stages[name] = t.P50
	}
	return of
}

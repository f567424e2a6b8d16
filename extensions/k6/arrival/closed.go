package arrival

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.k6.io/k6/v2/lib"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
)

// The closed model: a VU sends its next request when the last one has been answered, so k6's own executors hold the load
// and a message is due when it is sent.

// closedLead is when the first phase begins, after the start of the test: until then the subscribers subscribe.
const closedLead = 2 * time.Second

// senderScenario names the scenario of a phase; its number says to which phase a VU's requests belong.
const senderScenario = "sender_"

// closedScenarios adds a scenario for each phase that has VUs.
func (e *engine) closedScenarios(all map[string]any, patience time.Duration) {
	start := closedLead
	for i, p := range e.options.profile.Phases {
		if p.VUs > 0 {
			all[senderScenario+strconv.Itoa(i+1)] = map[string]any{
				"executor": "constant-vus", "exec": "sender", "vus": p.VUs, "startTime": milliseconds(start),
				"duration": milliseconds(p.Duration), "gracefulStop": wholeSeconds(patience),
			}
		}
		start += p.Duration
	}
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) + "ms" }

// takeNow returns the next request of a VU in the closed model; it is due now.
func (e *engine) takeNow(ctx context.Context) (slot pacer.Slot, ok bool) {
	phase, end, err := e.closedPhase(ctx)
	if err != nil {
		e.count("schedule", "no such phase", err.Error())
		sleepUntil(ctx, nil, e.epoch.Add(e.options.profile.Duration())) // its executor would call again at once
		return slot, false
	}
	if !sleepUntil(ctx, e.halted, e.epoch) {
		sleepUntil(ctx, nil, end)
		return slot, false
	}
	if !time.Now().Before(end) { // a VU that is in k6's graceful stop would add to the next phase's
		return slot, false
	}
	slot = e.pacer.Slot(int(e.next.Add(1)) - 1)
	slot.Phase = phase
	return slot, true
}

// closedPhase is the phase of the VU's scenario, and its end.
func (e *engine) closedPhase(ctx context.Context) (phase int, end time.Time, err error) {
	name := ""
	if s := lib.GetScenarioState(ctx); s != nil {
		name = s.Name
	}
	number, _ := strings.CutPrefix(name, senderScenario)
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(e.options.profile.Phases) {
		return 0, end, fmt.Errorf("scenario %q is not one of run.scenarios(): in the closed model they say which phase a request belongs to", name)
	}
	end = e.epoch
	for _, p := range e.options.profile.Phases[:n] {
		end = end.Add(p.Duration)
	}
	return n - 1, end, nil
}

package arrival

import (
	"testing"
	"time"

	host "github.com/shirou/gopsutil/v4/cpu"
	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

func TestTooMuch(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, c := range []struct {
		late, arrival time.Duration
		want          bool
	}{
		{0, 0, false},
		{2 * ms, 2 * ms, false}, // below the floor nothing but the scheduler is seen
		{3 * ms, 50 * ms, true},
		{3 * ms, 60 * ms, false}, // 5 %
		{50 * ms, 999 * ms, true},
		{50 * ms, 1000 * ms, false},
	} {
		assert.Equal(t, c.want, tooMuch(c.late, c.arrival), "%+v", c)
	}
}

func TestTooBusy(t *testing.T) {
	t.Parallel()
	seconds := func(cpu ...float64) (timeline []report.Interval) {
		for _, c := range cpu {
			timeline = append(timeline, report.Interval{Generator: report.Usage{CPUPercent: &c}})
		}
		return append(timeline, make([]report.Interval, 40-len(cpu))...) // the system did not tell
	}
	busy, yes := tooBusy(seconds(181, 190, 100), 2)
	assert.Equal(t, 2, busy)
	assert.False(t, yes, "2 of 40 seconds")
	_, yes = tooBusy(seconds(181, 190, 200), 2)
	assert.True(t, yes, "3 of 40 seconds")
	_, yes = tooBusy(seconds(181, 190, 200), 4)
	assert.False(t, yes)
	_, yes = tooBusy(nil, 2)
	assert.False(t, yes)
}

func TestTheClocksMustBeFinerThanTheStages(t *testing.T) {
	t.Parallel()
	times := ledger.NewTimes()
	for s, us := range map[ledger.Stage]int64{
		ledger.Schedule: 1, ledger.Request: 400, ledger.Ingest: 1, ledger.Queue: 200, ledger.Relay: 1, ledger.Delivery: 300,
	} {
		times.Stages[s].Add(us)
	}
	for name, c := range map[string]struct {
		clock report.Clock
		want  []string
	}{
		"fine enough; stages of one process have one clock": {report.Clock{BoundMS: 0.02}, nil},
		"too coarse": {report.Clock{BoundMS: 0.021}, []string{
			"the clock bound ±0.021 ms is more than 10 % of the stage queue (p50 0.200 ms)"}},
		"queue is marked, delivery is not": {report.Clock{BoundMS: 0.25}, []string{
			"the clock bound ±0.250 ms is more than 10 % of the stage delivery (p50 0.300 ms)"}},
		"all are marked":       {report.Clock{BoundMS: 0.5}, nil},
		"within the limit":     {report.Clock{BoundMS: 0.02, LimitMS: new(0.02)}, nil},
		"one host":             {report.Clock{BoundMS: 0.1, OneHost: true}, nil},
		"no clock but our own": {report.Clock{Reference: "monotonic"}, nil},
		"one host, over limit": {report.Clock{BoundMS: 0.02, OneHost: true, LimitMS: new(0.01)}, []string{
			"the clock bound ±0.020 ms is above the limit of 0.010 ms"}},
	} {
		c.clock.Processes = []report.ProcessClock{{Process: "ingest-1"}}
		assert.Equal(t, c.want, clockReasons(c.clock, times), name)
	}
	assert.Empty(t, clockReasons(report.Clock{BoundMS: 1}, ledger.NewTimes()), "no stages")
	silent := report.Clock{BoundMS: 0.01, LimitMS: new(0.02)}
	assert.Equal(t, []string{"no process of the pipeline has told how well it knows the time, so the limit of the clock bound holds for the generator alone"},
		clockReasons(silent, times))
}

func TestAHypervisorThatTookMuchIsNamed(t *testing.T) {
	t.Parallel()
	seconds := func(steal ...float64) (timeline []report.Interval) {
		for i := range steal {
			timeline = append(timeline, report.Interval{Generator: report.Usage{StealPercent: &steal[i]}})
		}
		return append(timeline, report.Interval{})
	}
	assert.Empty(t, stolen(nil))
	assert.Empty(t, stolen(seconds(5, 0, 0)))
	assert.Equal(t, "the hypervisor took 20 % of this host's CPU meanwhile, and 40 % in the worst second", stolen(seconds(0, 40)))
	before := host.TimesStat{User: 5, Idle: 90, Steal: 5}
	assert.InDelta(t, 25, *stealBetween(before, host.TimesStat{User: 6, Idle: 92, Steal: 6}), 1e-9)
	assert.Nil(t, stealBetween(host.TimesStat{}, host.TimesStat{User: 5, Idle: 90}), "a host that no hypervisor divides")
}

package facts

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// sharing is a run on a host of two cores, of which its processes use 145 % of one core.
type sharing struct {
	steal   []float64 // % of the CPU in each second of the hold; nil: the host has no hypervisor
	seconds int
	carried float64 // messages/s, of 1,000
	host    float64 // % of one core, of all processes
	apart   bool    // the pipeline has another host
}

func (s sharing) run() *runfile.Run {
	warmUp, hold := "warm-up", "hold"
	r := &runfile.Run{
		Steps: []runfile.Step{{Name: warmUp, DurationS: 1}, {Name: hold, Measured: true, StartS: 1,
			DurationS: float64(s.seconds), ScheduledPerS: 1000, CarriedPerS: s.carried,
			CPUPercent: map[string]float64{"host": s.host, "k6": 45, "ingest-1": 100}}},
		Environment: map[string]any{"shared_host": !s.apart, "cores": 2.0},
	}
	second := func(phase *string, steal *float64) {
		r.Timeline = append(r.Timeline, runfile.Interval{T: len(r.Timeline), Phase: phase,
			Generator: runfile.Usage{StealPercent: steal}})
	}
	second(&warmUp, new(90.0))
	for i := range s.seconds {
		var steal *float64
		if s.steal != nil {
			steal = new(s.steal[min(i, len(s.steal)-1)])
		}
		second(&hold, steal)
	}
	second(nil, new(90.0))
	return r
}

func TestARunIsDisturbedWhereTheHypervisorTookMuch(t *testing.T) {
	t.Parallel()
	for text, s := range map[string]sharing{
		`^the hypervisor took .* of the CPU in the measured phases, 11 % in the worst second$`: {
			steal: []float64{0, 0, 0, 0, 0, 11}, seconds: 6, carried: 1000, host: 145},
		`^the hypervisor took 4 % .*, 4 % in the worst second$`: {
			steal: []float64{4}, seconds: 3, carried: 1000, host: 145},
		`^the hypervisor took 30 % .*, 30 % in the worst second$`: {
			steal: []float64{30}, seconds: 2, carried: 750, host: 145},
	} {
		assert.Regexp(t, text, disturbed(s.run()))
	}
}

func TestARunIsDisturbedByOtherProcessesOfItsHost(t *testing.T) {
	t.Parallel()
	s := sharing{steal: []float64{0}, seconds: 2, carried: 950, host: 165}
	assert.Equal(t, "other processes took 10 % of the CPU", disturbed(s.run()))
	s.steal = []float64{4}
	assert.Regexp(t, `^the hypervisor .*, other processes took 10 %`, disturbed(s.run()))
	s.steal, s.apart = []float64{0}, true
	assert.Empty(t, disturbed(s.run()), "the pipeline runs on another host")
}

func TestARunIsNotDisturbedByLittle(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]sharing{
		"one second of less than a tenth": {steal: []float64{0, 1, 9, 0, 0, 0}, seconds: 6, carried: 1000, host: 145},
		"a host without a hypervisor":     {seconds: 2, carried: 1000, host: 145},
		"a run without a measured second": {steal: []float64{90}, carried: 1000, host: 145},
		"its own processes":               {steal: []float64{0}, seconds: 2, carried: 1000, host: 150},
		"nothing known of the host":       {seconds: 2, carried: 1000},
	} {
		assert.Empty(t, disturbed(s.run()), name)
	}
}

func TestWhatOthersTookDoesNotExcuseAnOverload(t *testing.T) {
	t.Parallel()
	assert.Empty(t, disturbed(sharing{steal: []float64{0}, seconds: 2, carried: 800, host: 165}.run()))
	assert.Empty(t, disturbed(sharing{steal: []float64{30}, seconds: 2, carried: 500, host: 145}.run()))
}

// Regression: deliveries were divided by messages, so a run with two subscribers was never overloaded.
func TestAnOverloadWithSeveralSubscribersIsOne(t *testing.T) {
	t.Parallel()
	r := sharing{steal: []float64{0}, seconds: 2, carried: 800, host: 165}.run()
	for i := range r.Timeline {
		r.Timeline[i].Scheduled, r.Timeline[i].Arrived = 1000, 1600
	}
	assert.Empty(t, disturbed(r))
}

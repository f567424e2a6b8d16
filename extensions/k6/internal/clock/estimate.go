package clock

import "math"

// Sample is one probe: sent at T0 and answered at T1 of the own clock; Redis returned Server. All in µs since
// 1970.
type Sample struct{ T0, Server, T1 float64 }

// between returns the moment of the probe and the interval of the offset: Redis read its clock between T0 and
// T1. TIME truncates to µs, half of one on average.
func (s Sample) between() (at, low, high float64) {
	const truncation = 0.5
	at = (s.T0 + s.T1) / 2
	half := (s.T1-s.T0)/2 + truncation
	return at, s.Server - at - half, s.Server - at + half
}

// steepest is the largest drift that is assumed before samples prove better: Ethernet allows clocks ±100 ppm.
const steepest = 100e-6

// Estimate is what samples prove about the offset (reference − own clock, µs) at time At and about the drift
// (µs per µs).
type Estimate struct {
	At               float64
	Low, High        float64 // of the offset at At
	Slowest, Fastest float64 // of the drift
	Kept             int     // how many of the newest samples one steady drift explains; older ones are dropped
}

// Of returns the estimate at a moment after the samples, which are oldest first. It panics without a sample.
// pipeline/common/clock.ts is the same; both are tested against reports/contract/clock.vectors.json.
func Of(samples []Sample, at float64) Estimate {
	e := Estimate{At: at, Slowest: -steepest, Fastest: steepest}
	for e.Kept < len(samples) {
		from := len(samples) - e.Kept - 1
		t, low, high := samples[from].between()
		slowest, fastest := e.Slowest, e.Fastest
		for _, s := range samples[from+1:] {
			later, floor, ceiling := s.between()
			slowest = math.Max(slowest, (floor-high)/(later-t))
			fastest = math.Min(fastest, (ceiling-low)/(later-t))
		}
		if slowest > fastest { // a clock was set, or its rate changed: older samples no longer apply
			break
		}
		e.Slowest, e.Fastest = slowest, fastest
		e.Kept++
	}
	e.Low, e.High = math.Inf(-1), math.Inf(1)
	for _, s := range samples[len(samples)-e.Kept:] {
		t, low, high := s.between()
		e.Low = math.Max(e.Low, low+e.Slowest*(at-t))
		e.High = math.Min(e.High, high+e.Fastest*(at-t))
	}
	return e
}

// drift is the drift to apply: zero unless it is proven.
func (e Estimate) drift() float64 {
	if e.Slowest <= 0 && e.Fastest >= 0 {
		return 0
	}
	return (e.Slowest + e.Fastest) / 2
}

// Used is the offset to apply at t: zero where zero is possible and no drift is proven.
func (e Estimate) Used(t float64) float64 {
	drift := e.drift()
	if drift == 0 && e.Low <= 0 && e.High >= 0 {
		return 0
	}
	return (e.Low+e.High)/2 + drift*(t-e.At)
}

// Bound is the largest possible error of the offset applied at t.
func (e Estimate) Bound(t float64) float64 {
	used := e.Used(t)
	return math.Max(e.High+e.Fastest*(t-e.At)-used, used-e.Low-e.Slowest*(t-e.At))
}

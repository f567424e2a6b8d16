package facts

import (
	"math"

	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// USL is the fit of the Universal Scalability Law (N. Gunther): throughput as a function of concurrency,
// X(N) = λN / (1 + σ(N − 1) + κN(N − 1)).
type USL struct {
	LambdaPerS float64 `json:"lambda_per_s"` // messages/s of one VU alone
	Sigma      float64 `json:"sigma"`        // contention: the serial part of the work
	Kappa      float64 `json:"kappa"`        // coherency: the cost of each pair
	// PeakVUs is the concurrency of the highest throughput; nil: there is no maximum, or it is too far beyond the steps.
	PeakVUs *float64 `json:"peak_vus"`
	// R2 is the share of the variance that the fit explains.
	R2    float64 `json:"r2"`
	Steps int     `json:"steps"` // that are fitted
	// Points are concurrency (VUs) and fitted throughput (messages/s), at the steps and between them.
	Points [][2]float64 `json:"points"`
}

const (
	uslLeastSteps = 4   // three parameters fit fewer points always
	uslLeastR2    = 0.9 // a fit that explains less is no curve
	uslBetween    = 8   // points from one step to the next
	uslBeyond     = 2   // the fit is believed up to so many times the last step
	uslRounds     = 50
)

// NewUSL is the fit to the rates that the steps of a sweep carried; nil: the run is no sweep, has too few steps, or the
// fit explains too little.
func NewUSL(steps []report.Step) *USL {
	if !report.Sweeps(steps) {
		return nil
	}
	var points [][2]float64
	for _, s := range report.SweepSteps(steps) {
		points = append(points, [2]float64{float64(*s.VUs), s.CarriedPerS})
	}
	u := fitUSL(points)
	if u == nil || u.R2 < uslLeastR2 {
		return nil
	}
	if last := points[len(points)-1][0]; u.PeakVUs != nil && *u.PeakVUs > uslBeyond*last {
		u.PeakVUs = nil
	}
	u.Points = u.between(points)
	return u
}

// at is the throughput at a concurrency.
func (u *USL) at(n float64) float64 {
	return u.LambdaPerS * n / (1 + u.Sigma*(n-1) + u.Kappa*n*(n-1))
}

// between is the curve at the concurrencies of points, and at some between two of them.
func (u *USL) between(points [][2]float64) [][2]float64 {
	before := points[0][0]
	curve := [][2]float64{{before, u.at(before)}}
	for _, p := range points[1:] {
		if p[0] == before {
			continue
		}
		for k := 1; k <= uslBetween; k++ {
			n := before + (p[0]-before)*float64(k)/uslBetween
			curve = append(curve, [2]float64{n, u.at(n)})
		}
		before = p[0]
	}
	return curve
}

// fitUSL fits the law to concurrencies and throughputs by least squares, σ and κ no less than 0. It returns nil with
// too few points, or none above 0.
func fitUSL(points [][2]float64) *USL {
	highest, mean := 0.0, 0.0
	for _, p := range points {
		highest, mean = max(highest, p[1]), mean+p[1]/float64(len(points))
	}
	if len(points) < uslLeastSteps || highest <= 0 {
		return nil
	}
	scaled := make([][2]float64, len(points))
	for i, p := range points {
		scaled[i] = [2]float64{p[0], p[1] / highest}
	}
	theta := gaussNewton(scaled)
	u := &USL{LambdaPerS: highest / theta[0], Sigma: theta[1] / theta[0], Kappa: theta[2] / theta[0], Steps: len(points)}
	if sum := u.LambdaPerS + u.Sigma + u.Kappa; math.IsNaN(sum) || math.IsInf(sum, 0) {
		return nil
	}
	if u.Kappa > 1e-9 && u.Sigma < 1 {
		u.PeakVUs = new(math.Sqrt((1 - u.Sigma) / u.Kappa))
	}
	var spread, left float64
	for _, p := range points {
		spread += (p[1] - mean) * (p[1] - mean)
		left += (p[1] - u.at(p[0])) * (p[1] - u.at(p[0]))
	}
	u.R2 = 1
	if spread > 0 {
		u.R2 = 1 - left/spread
	}
	return u
}

package facts

import (
	"math"
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

const (
	uslLeastSteps = 4   // three parameters always fit fewer points
	uslLeastR2    = 0.9 // a fit that explains less is not shown
	uslBetween    = 8   // points from one step to the next
	uslBeyond     = 2   // the fit is believed up to so many times the last step
	uslRounds     = 50
)

// NewUSL is the fit of the Universal Scalability Law to the rates that the steps of a sweep carried; nil: the run is no
// sweep, has too few steps, or the fit explains too little.
func NewUSL(steps []runfile.Step) *runfile.USL {
	if u := sweepFit(steps); u != nil && u.R2 >= uslLeastR2 {
		return u
	}
	return nil
}

// sweepFit is the fit to the steps of a sweep, however little it explains; nil: the run is not a sweep, or has too few
// steps.
func sweepFit(steps []runfile.Step) *runfile.USL {
	if !runfile.Sweeps(steps) {
		return nil
	}
	var points [][2]float64
	for _, s := range runfile.SweepSteps(steps) {
		points = append(points, [2]float64{float64(*s.VUs), s.CarriedPerS})
	}
	u := fitUSL(points)
	if u == nil {
		return nil
	}
	if last := points[len(points)-1][0]; u.PeakVUs != nil && *u.PeakVUs > uslBeyond*last {
		u.PeakVUs = nil
	}
	u.Points = between(u, points)
	return u
}

// throughput returns the throughput of a fit at a concurrency.
func throughput(u *runfile.USL, n float64) float64 {
	return u.LambdaPerS * n / (1 + u.Sigma*(n-1) + u.Kappa*n*(n-1))
}

// between is the curve at the concurrencies of points, and at some between two of them.
func between(u *runfile.USL, points [][2]float64) [][2]float64 {
	before := points[0][0]
	curve := [][2]float64{{before, throughput(u, before)}}
	for _, p := range points[1:] {
		if p[0] == before {
			continue
		}
		for k := 1; k <= uslBetween; k++ {
			n := before + (p[0]-before)*float64(k)/uslBetween
			curve = append(curve, [2]float64{n, throughput(u, n)})
		}
		before = p[0]
	}
	return curve
}

// fitUSL fits the law to concurrencies and throughputs by least squares, σ and κ no less than 0. It returns nil with
// too few points, or none above 0.
func fitUSL(points [][2]float64) *runfile.USL {
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
	u := &runfile.USL{LambdaPerS: highest / theta[0], Sigma: theta[1] / theta[0], Kappa: theta[2] / theta[0],
		Steps: len(points)}
	if sum := u.LambdaPerS + u.Sigma + u.Kappa; math.IsNaN(sum) || math.IsInf(sum, 0) {
		return nil
	}
	if u.Kappa > 1e-9 && u.Sigma < 1 {
		u.PeakVUs = new(math.Sqrt((1 - u.Sigma) / u.Kappa))
	}
	var spread, left float64
	for _, p := range points {
		spread += (p[1] - mean) * (p[1] - mean)
		left += (p[1] - throughput(u, p[0])) * (p[1] - throughput(u, p[0]))
	}
	u.R2 = 1
	if spread > 0 {
		u.R2 = 1 - left/spread
	}
	return u
}

// three are 1/λ, σ/λ and κ/λ, or their coefficients in a linear equation.
type three [3]float64

func (a three) dot(b three) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }

// equation is a weighted linear equation of the three.
type equation struct {
	row    three
	target float64
}

// free are the choices of which of the three are not 0.
var free = [][]int{{0, 1, 2}, {0, 1}, {0, 2}, {0}}

// gaussNewton fits 1/λ, σ/λ and κ/λ to points of concurrency and throughput. As n / X is linear in them, each round is
// a linear fit, weighted by the last one.
func gaussNewton(points [][2]float64) three {
	best, least := three{1, 0, 0}, math.Inf(1)
	model := make([]float64, len(points))
	for i, p := range points {
		model[i] = p[1]
	}
	for range uslRounds {
		rows := make([]equation, len(points))
		for i, p := range points {
			n, now := p[0], model[i]
			weight := now * now / n
			rows[i] = equation{three{weight, weight * (n - 1), weight * n * (n - 1)}, 2*now - p[1]}
		}
		theta, ok := nonNegative(rows)
		if !ok || theta[0] == 0 {
			break
		}
		squares := 0.0
		for i, p := range points {
			model[i] = p[0] / three{1, p[0] - 1, p[0] * (p[0] - 1)}.dot(theta)
			squares += (model[i] - p[1]) * (model[i] - p[1])
		}
		if squares < least {
			best, least = theta, squares
		}
	}
	return best
}

// nonNegative is the best fit without a negative value; ok is false if there is none.
func nonNegative(rows []equation) (best three, ok bool) {
	least := 0.0
	for _, columns := range free {
		theta := leastSquares(rows, columns)
		// A system without a solution gives NaN.
		if slices.ContainsFunc(theta[:], func(v float64) bool { return math.IsNaN(v) || v < 0 }) {
			continue
		}
		rest := 0.0
		for _, e := range rows {
			rest += (e.row.dot(theta) - e.target) * (e.row.dot(theta) - e.target)
		}
		if !ok || rest < least {
			best, least, ok = theta, rest, true
		}
	}
	return best, ok
}

// leastSquares solves the normal equations of the free columns by elimination; the others are 0.
func leastSquares(rows []equation, columns []int) (theta three) {
	system := make([][]float64, len(columns))
	for k, i := range columns {
		system[k] = make([]float64, len(columns)+1)
		for _, e := range rows {
			for l, j := range columns {
				system[k][l] += e.row[i] * e.row[j]
			}
			system[k][len(columns)] += e.row[i] * e.target
		}
	}
	for i, pivot := range system {
		by := pivot[i]
		for k, other := range system {
			if k == i {
				continue
			}
			factor := other[i] / by
			for j := range other {
				other[j] -= factor * pivot[j]
			}
		}
	}
	for k, i := range columns {
		theta[i] = system[k][len(columns)] / system[k][k]
	}
	return theta
}

package facts

import (
	"math"
	"slices"
)

// three are 1/λ, σ/λ and κ/λ, or what stands before them in a linear equation.
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
		// A system without a solution has values that are no numbers.
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

package facts

import "math"

// beyond is the probability that Student's t with so many degrees of freedom exceeds a value, on either side.
func beyond(t, freedom float64) float64 {
	return incompleteBeta(freedom/2, 0.5, freedom/(freedom+t*t))
}

// critical is the value that Student's t with so many degrees of freedom exceeds, on either side, as often as a
// confidence level allows.
func critical(level, freedom float64) float64 {
	low, high := 0.0, 1.0
	for beyond(high, freedom) > 1-level {
		low, high = high, 2*high
	}
	for range 60 {
		middle := (low + high) / 2
		if beyond(middle, freedom) > 1-level {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// incompleteBeta is the regularized incomplete beta function, by its continued fraction (Abramowitz and Stegun 26.5.8,
// evaluated by Lentz' method).
func incompleteBeta(a, b, x float64) float64 {
	if x <= 0 || x >= 1 {
		return min(1, max(0, x))
	}
	if x > (a+1)/(a+b+2) { // the fraction converges fast on the other side
		return 1 - incompleteBeta(b, a, 1-x)
	}
	const (
		tiny  = 1e-300
		exact = 1e-14
		most  = 500
	)
	lgamma := func(v float64) float64 {
		l, _ := math.Lgamma(v)
		return l
	}
	front := math.Exp(lgamma(a+b)-lgamma(a)-lgamma(b)+a*math.Log(x)+b*math.Log1p(-x)) / a
	f, c, d := 1.0, 1.0, 0.0
	for i := range most {
		m := float64(i / 2)
		numerator := 1.0
		switch {
		case i == 0:
		case i%2 == 0:
			numerator = m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		default:
			numerator = -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		}
		d = nonZero(1+numerator*d, tiny)
		c = nonZero(1+numerator/c, tiny)
		d = 1 / d
		f *= c * d
		if math.Abs(1-c*d) < exact {
			break
		}
	}
	return front * (f - 1)
}

func nonZero(v, tiny float64) float64 {
	if math.Abs(v) < tiny {
		return tiny
	}
	return v
}

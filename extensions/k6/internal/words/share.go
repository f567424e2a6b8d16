package words

import (
	"math"
)

// Percent is a share of 1: whole per cent from 1 to 99 %, up to two decimals nearer to the ends. 0 % is none and 100 %
// is all, neither is ever rounded.
func Percent(share float64) string {
	value := 100 * share
	return percent(value, sharePlaces(value))
}

// percent is a share of 100.
func percent(value float64, decimals int) string {
	size := math.Abs(value)
	switch {
	case math.IsNaN(value) || math.IsInf(value, 0):
		return None
	case size > 0 && size < 0.005:
		return "< 0.01 %"
	case value >= 99.995 && value < 100:
		return "> 99.99 %"
	}
	return trimmed(value, decimals) + " %"
}

func sharePlaces(value float64) int {
	if size := math.Abs(value); size < 1 || size > 99 && size < 100 {
		return 2
	}
	return 0
}

// A change is printed as a ratio from this one on, and below its inverse.
const manyTimes = 10

// Change is a relative change: "+57 %", "−3.2 %", and from ten times on "×916" or "÷12".
func Change(share float64) string {
	ratio := 1 + share
	switch {
	case math.IsNaN(share) || math.IsInf(share, 0):
		return None
	case ratio >= manyTimes:
		return "×" + Level(ratio)
	case ratio > 0 && ratio <= 1.0/manyTimes:
		return "÷" + Level(1/ratio)
	}
	return changed(100*share, changePlaces(100*share))
}

func changed(value float64, decimals int) string {
	if size := math.Abs(value); decimals == 2 && size > 0 && size < 0.005 {
		return "< 0.01 %"
	}
	sign := ""
	if value > 0 {
		sign = "+"
	}
	return sign + trimmed(value, decimals) + " %"
}

// changePlaces is the number of decimals of two significant digits, at most two.
func changePlaces(value float64) int {
	if value == 0 {
		return 0
	}
	return min(2, max(0, 1-magnitude(value, 2)))
}

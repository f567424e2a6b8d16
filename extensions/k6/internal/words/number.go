package words

import (
	"math"
	"strconv"
	"strings"
)

// most is the largest number that is written with all its digits: hundreds of them break a layout.
const most = 1<<53 - 1

// Count is a whole number: "89,300".
func Count(n int) string { return Grouped(strconv.Itoa(n)) }

// Grouped adds thousands separators to a number of strconv, and makes its sign a minus. Zero has no sign.
func Grouped(s string) string {
	digits, negative := strings.CutPrefix(s, "-")
	end := strings.IndexAny(digits, ".e")
	if end < 0 {
		end = len(digits)
	}
	for i := end - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if negative && strings.ContainsAny(digits, "123456789") {
		return "−" + digits
	}
	return digits
}

// MS has three significant digits, at most three decimals, and none from 100 on: the histogram's resolution is no
// better.
func MS(value *float64) string {
	if unknown(value) {
		return None
	}
	return fixed(*value, places(*value, 3))
}

// Figure is a whole number in full, another one as MS writes it.
func Figure(value *float64) string {
	if unknown(value) {
		return None
	}
	return fixed(*value, figurePlaces(*value))
}

// Level has three significant digits but all of a whole number, at most one decimal from 1 on, and two significant
// digits below it.
func Level(value float64) string {
	return trimmed(value, levelPlaces(value))
}

func levelPlaces(value float64) int {
	if size := math.Abs(value); size > 0 && size < 1 {
		return min(3, max(0, 1-magnitude(value, 2)))
	}
	return places(value, 1)
}

// Exact has all digits of a number that was set.
func Exact(value float64) string {
	if math.Abs(value) > most {
		return fixed(value, 0)
	}
	return Grouped(strconv.FormatFloat(value, 'f', -1, 64))
}

// WithUnit is a figure with its unit: "14.4 ms". A share of 100 is written as Percent does.
func WithUnit(value *float64, unit string) string {
	switch {
	case unknown(value):
		return None
	case unit == "%":
		return percent(*value, sharePlaces(*value))
	case rated(unit):
		return Level(*value) + " " + unit
	}
	return strings.TrimSpace(Figure(value) + " " + unit)
}

// Against is a figure that a limit is on, with its unit. It has as many digits as show on which side of the limit it
// is: 98.75 % against 99 % is never "99 %".
func Against(value, limit *float64, unit string) string {
	if unknown(value) || unknown(limit) {
		return WithUnit(value, unit)
	}
	start := figurePlaces(*value)
	switch {
	case unit == "%":
		start = sharePlaces(*value)
	case rated(unit):
		start = levelPlaces(*value)
	}
	digits := apart(*value, *limit, start)
	if digits == start {
		return WithUnit(value, unit)
	}
	return strings.TrimSpace(fixed(*value, digits) + " " + unit)
}

// rated says whether a unit is one of rates, as "requests/s" is.
func rated(unit string) bool { return strings.HasSuffix(unit, "/s") }

// apart is the number of decimals, no fewer than start, with which the printed value is on the same side of limit as
// the value is.
func apart(value, limit float64, start int) int {
	const finest = 17
	value, limit = decimal(value), decimal(limit)
	for digits := start; digits < finest; digits++ {
		shown, _ := strconv.ParseFloat(strconv.FormatFloat(value, 'f', digits, 64), 64)
		if side(shown, limit) == side(value, limit) {
			return digits
		}
	}
	return finest
}

// decimal is the number that was meant: a share of 0.57 makes 56.99999999999999 %.
func decimal(value float64) float64 {
	const digits = 15
	meant, err := strconv.ParseFloat(strconv.FormatFloat(value, 'g', digits, 64), 64)
	if err != nil {
		return value
	}
	return meant
}

// Shown is the number that MS prints.
func Shown(value float64) float64 {
	shown, err := strconv.ParseFloat(strconv.FormatFloat(value, 'f', places(value, 3), 64), 64)
	if err != nil {
		return value
	}
	return shown
}

func side(value, limit float64) int {
	switch {
	case value < limit:
		return -1
	case value > limit:
		return 1
	}
	return 0
}

func figurePlaces(value float64) int {
	if value == math.Trunc(value) {
		return 0
	}
	return places(value, 3)
}

// places is the number of decimals of three significant digits, of which there are at most so many.
func places(value float64, decimals int) int {
	if value == 0 {
		return 0
	}
	return min(decimals, max(0, 2-magnitude(value, 3)))
}

// magnitude is the power of ten of a number that is rounded to so many significant digits.
func magnitude(value float64, digits int) int {
	_, exponent, _ := strings.Cut(strconv.FormatFloat(value, 'e', digits-1, 64), "e")
	power, _ := strconv.Atoi(exponent)
	return power
}

func fixed(value float64, decimals int) string {
	if math.Abs(value) > most {
		return Grouped(strconv.FormatFloat(value, 'e', 2, 64))
	}
	return Grouped(strconv.FormatFloat(value, 'f', decimals, 64))
}

// trimmed is fixed without zeros at its end.
func trimmed(value float64, decimals int) string {
	text := fixed(value, decimals)
	if decimals == 0 || strings.Contains(text, "e") {
		return text
	}
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

func unknown(value *float64) bool { return value == nil || math.IsNaN(*value) || math.IsInf(*value, 0) }

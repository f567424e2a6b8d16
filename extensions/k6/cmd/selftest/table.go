package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// widths of the columns: what, told, measured, tolerance. The last column is the answer.
var widths = [...]int{32, 24, 24, 18}

func head() string { return line("", "told", "measured", "tolerance", "") }

// text is the part of the table about one case.
func (r *result) text(f form) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n", r.testCase.title(f))
	for _, why := range r.repeated {
		fmt.Fprintf(&b, "  repeated: %s\n", why)
	}
	for _, l := range r.rows {
		answer := "ok"
		switch {
		case l.open():
			answer = "open"
		case !l.ok:
			answer = "NO"
		}
		b.WriteString(line(l.what, l.told, l.measured, l.tolerance, answer))
	}
	return b.String()
}

func (c *testCase) title(f form) string {
	load := fmt.Sprintf("%s/s for %d s", count(c.rate), c.seconds[f])
	switch {
	case c.kill > 0:
		load = fmt.Sprintf("%s/s until SIGKILL", count(c.rate))
	case c.warmUp > 0:
		load += fmt.Sprintf(" after %d s", c.warmUp)
	}
	if len(c.tell) > 1 {
		load += " each"
	}
	return c.name + " · " + load
}

// line is one line of the table. A text that is too long for its column pushes the others on.
func line(cells ...string) string {
	var b strings.Builder
	b.WriteString("  ")
	for i, cell := range cells {
		b.WriteString(cell)
		if i < len(widths) {
			b.WriteString(strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(cell))+1))
		}
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}

// trim writes milliseconds to the µs, and long ones with four digits.
func trim(ms float64) string {
	decimals := 3
	switch size := max(ms, -ms); {
	case size >= 100:
		decimals = 1
	case size >= 10:
		decimals = 2
	}
	text := strconv.FormatFloat(ms, 'f', decimals, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return strings.Replace(text, "-", "−", 1)
}

// micros writes milliseconds to the µs, however many they are: what clocks are compared to.
func micros(ms float64) string {
	return strings.Replace(strconv.FormatFloat(ms, 'f', 3, 64), "-", "−", 1)
}

func millis(ms float64) string { return trim(ms) + " ms" }

// count writes a number with thousands separators.
func count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

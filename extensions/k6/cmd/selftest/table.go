package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

func head() string { return line("", "expected", "measured", "tolerance", "") }

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
		b.WriteString(line(l.what, l.expected, l.measured, l.tolerance, answer))
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
	if len(c.pipelines) > 1 {
		load += " each"
	}
	return c.name + " · " + load
}

// line formats one line of the table. A text that is too long moves the columns behind it to the right.
func line(what, expected, measured, tolerance, answer string) string {
	text := fmt.Sprintf("  %-32s %-24s %-24s %-18s %s", what, expected, measured, tolerance, answer)
	return strings.TrimRight(text, " ") + "\n"
}

// trim formats ms with up to three decimals, and from 10 ms with four digits.
func trim(ms float64) string {
	scale := 1000.0
	switch size := math.Abs(ms); {
	case size >= 100:
		scale = 10
	case size >= 10:
		scale = 100
	}
	return minus(strconv.FormatFloat(math.Round(ms*scale)/scale, 'f', -1, 64))
}

// micros formats ms with three decimals, for clocks.
func micros(ms float64) string { return minus(fmt.Sprintf("%.3f", ms)) }

func millis(ms float64) string { return trim(ms) + " ms" }

func minus(number string) string { return strings.Replace(number, "-", "−", 1) }

func count(n int) string { return english.Sprint(n) }

var english = message.NewPrinter(language.English)

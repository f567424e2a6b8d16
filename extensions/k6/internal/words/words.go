// Package words writes numbers, shares, times and foreign text as every report of a run prints them.
package words

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

func Count(n int) string { return Grouped(strconv.Itoa(n)) }

func Plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + one + "s"
}

// MS formats a number with three significant digits, at most three decimals, and none from 100 on: the histogram's
// resolution is no better. page/format.ts does the same.
func MS(value *float64) string {
	if value == nil {
		return "n/a"
	}
	if *value == 0 {
		return "0"
	}
	_, exponent, _ := strings.Cut(strconv.FormatFloat(*value, 'e', 2, 64), "e")
	magnitude, _ := strconv.Atoi(exponent)
	return Grouped(strconv.FormatFloat(*value, 'f', min(3, max(0, 2-magnitude)), 64))
}

// Percent writes a share of 1, with more digits near 0 and 1.
func Percent(share float64) string {
	digits := 0
	if share > 0 && share < 0.01 || share > 0.99 && share < 1 {
		digits = 2
	}
	text := strconv.FormatFloat(100*share, 'f', digits, 64)
	if text == "0.00" { // never rounded to 0 %
		text = "< 0.01"
	}
	if share < 1 && strings.TrimRight(text, "0.") == "1" && share > 0.5 { // never rounded to 100 %
		text = "> 99.99"
	}
	return text + " %"
}

// Grouped adds thousands separators.
func Grouped(s string) string {
	end := strings.IndexByte(s, '.')
	if end < 0 {
		end = len(s)
	}
	for i := end - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Figure writes whole numbers in full, others with three digits.
func Figure(value *float64) string {
	if value != nil && *value == math.Trunc(*value) && math.Abs(*value) < 1e15 {
		return Count(int(*value))
	}
	return MS(value)
}

func WithUnit(value *float64, unit string) string {
	if unit == "" || value == nil {
		return Figure(value)
	}
	return Figure(value) + " " + unit
}

// Moment writes a moment of the run as the page does: 0:07, 1:02:03.
func Moment(d time.Duration) string {
	s := int(d.Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

var obeyed = regexp.MustCompile(`[\p{Cc}\x{61c}\x{200e}\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}]`)

// Printable makes foreign text safe for a terminal: it escapes control and bidirectional characters as JSON does.
// pipeline/common/printable.ts does the same.
func Printable(text string) string {
	return obeyed.ReplaceAllStringFunc(strings.ToValidUTF8(text, "\uFFFD"), func(one string) string {
		switch one {
		case "\n":
			return `\n`
		case "\r":
			return `\r`
		case "\t":
			return `\t`
		}
		r, _ := utf8.DecodeRuneInString(one)
		return fmt.Sprintf(`\u%04x`, r)
	})
}

// PerSecond is a rate as text.
func PerSecond(rate float64) string {
	if rate >= 100 {
		return Count(int(rate+0.5)) + " messages/s"
	}
	if rate >= 1 {
		return strings.TrimSuffix(strconv.FormatFloat(rate, 'f', 1, 64), ".0") + " messages/s"
	}
	return MS(&rate) + " messages/s"
}

// shortMost is the most characters of a name in a sentence.
const shortMost = 60

// Short cuts a name, which may have any length.
func Short(name string) string {
	if letters := []rune(name); len(letters) > shortMost {
		return string(letters[:shortMost-1]) + "…"
	}
	return name
}

// Capital makes the first letter of a sentence a capital.
func Capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

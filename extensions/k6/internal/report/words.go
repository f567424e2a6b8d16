package report

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

func count(n int) string { return grouped(strconv.Itoa(n)) }

// Number is a whole number with thousands separators, as reports write it.
func Number(n int) string { return count(n) }

// MS is a time in ms, as reports write it.
func MS(value *float64) string { return num(value) }

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + one + "s"
}

// num formats a number with three significant digits, at most three decimals, and none from 100 on: the histogram's
// resolution is no better. page/format.ts does the same.
func num(value *float64) string {
	if value == nil {
		return "n/a"
	}
	if *value == 0 {
		return "0"
	}
	_, exponent, _ := strings.Cut(strconv.FormatFloat(*value, 'e', 2, 64), "e")
	magnitude, _ := strconv.Atoi(exponent)
	return grouped(strconv.FormatFloat(*value, 'f', min(3, max(0, 2-magnitude)), 64))
}

// percent writes a share of 1, with more digits near 0 and 1.
func percent(share float64) string {
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

// grouped adds thousands separators.
func grouped(s string) string {
	end := strings.IndexByte(s, '.')
	if end < 0 {
		end = len(s)
	}
	for i := end - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// figure writes whole numbers in full, others with three digits.
func figure(value *float64) string {
	if value != nil && *value == math.Trunc(*value) && math.Abs(*value) < 1e15 {
		return count(int(*value))
	}
	return num(value)
}

func withUnit(value *float64, unit string) string {
	if unit == "" || value == nil {
		return figure(value)
	}
	return figure(value) + " " + unit
}

// scriptFigures formats the script's figures: name, and a value for each instance with the unit.
func scriptFigures(figures []Figure, none string) (shown [][2]string) {
	for i, f := range figures {
		same := func(o Figure) bool { return o.Name == f.Name }
		if slices.ContainsFunc(figures[:i], same) {
			continue
		}
		var values []string
		unit := ""
		for _, o := range figures {
			switch {
			case !same(o):
			case o.Value == nil:
				values = append(values, none)
			default:
				values = append(values, figure(o.Value))
				unit = f.Unit
			}
		}
		shown = append(shown, [2]string{f.Name, strings.TrimSpace(strings.Join(values, " · ") + " " + unit)})
	}
	return shown
}

// minutes writes a moment of the run as the page does: 0:07, 1:02:03.
func minutes(d time.Duration) string {
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

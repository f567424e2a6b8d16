// Package words writes numbers, shares, times and foreign text as every report of a run prints them.
// reports/format.ts and scenarios/lib/words.js write the same: reports/contract/words.vectors.json holds them
// together.
package words

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"
)

// None replaces a value that is not known; the page has a dash there.
const None = "n/a"

// Plural is n things, in the singular for one.
func Plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + one + "s"
}

var obeyed = regexp.MustCompile(`[\p{Cc}\x{61c}\x{200e}\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}]`)

// Printable makes foreign text safe for a terminal: it escapes control and bidirectional characters as JSON does.
// pipeline/shared/printable.ts does the same.
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

// ShortPath is a path relative to the working directory, where that is shorter.
func ShortPath(path string) string {
	if wd, err := os.Getwd(); err == nil {
		if short, err := filepath.Rel(wd, path); err == nil && len(short) < len(path) {
			return short
		}
	}
	return path
}

package render

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// foldLeast is the narrowest text: below that a terminal breaks lines itself.
const foldLeast = 30

// fold breaks a text into lines of so many characters at most: before a note, which three spaces precede, or else
// between words, and not behind a number, which belongs to what follows it. Longer words stay whole.
func fold(text string, width int) []string {
	if width < foldLeast || utf8.RuneCountInString(text) <= width {
		return []string{text}
	}
	if figures, note, ok := strings.Cut(text, "   "); ok {
		return append(fold(figures, width), fold(strings.TrimSpace(note), width)...)
	}
	var lines []string
	current := ""
	for _, piece := range pieces(text) {
		switch {
		case current == "":
			current = piece
		case utf8.RuneCountInString(current)+1+utf8.RuneCountInString(piece) <= width:
			current += " " + piece
		default:
			lines, current = append(lines, current), piece
		}
	}
	return append(lines, current)
}

// pieces are the words of a text, with what belongs to each: "p99 12.1 ms", "+ 3 lost".
func pieces(text string) []string {
	words := strings.Split(text, " ")
	var all []string
	for i := 0; i < len(words); i++ {
		piece := words[i]
		for i+1 < len(words) && keeps(words[i]) {
			i++
			piece += " " + words[i]
		}
		all = append(all, piece)
	}
	return all
}

// keeps reports whether a word belongs to the next one.
func keeps(word string) bool {
	if slices.Contains([]string{"+", "=", "≠", "×", "<", "<=", ">", ">=", "max", "about"}, word) {
		return true
	}
	return len(word) > 0 && word[len(word)-1] >= '0' && word[len(word)-1] <= '9'
}

package report

import (
	"regexp"
	"strings"
)

var (
	// An environment variable whose name says that its value is secret, as k6's -e and --env take it.
	secretVariable = regexp.MustCompile(`(?i)^((?:--env=|-e)?\w*(?:TOKEN|PASS|SECRET|CREDENTIAL|API_?KEY|AUTH|HEADER|_URL)\w*=).*`)
	credentials    = regexp.MustCompile(`://[^/\s]*@`)
	// What a shell takes as it is.
	unquoted = regexp.MustCompile(`^[\w@%+=:,./…-]+$`)
)

// Mask leaves out of a word what may be secret.
func Mask(word string) string {
	return credentials.ReplaceAllString(secretVariable.ReplaceAllString(word, "${1}…"), "://…@")
}

// Command is what a person types to repeat a run: ./k6 and its arguments as a shell takes them, without secrets.
func Command(args []string) string {
	words := []string{"./k6"}
	for _, word := range args {
		if word = Mask(word); !unquoted.MatchString(word) {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

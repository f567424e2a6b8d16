package arrival

import (
	"errors"
	"net/url"
	"os"
	"regexp"
	"strings"
)

var (
	// An environment variable whose name says that its value is secret, as k6's -e and --env take it.
	secretVariable = regexp.MustCompile(`(?i)^((?:--env=|-e)?\w*(?:TOKEN|PASS|SECRET|CREDENTIAL|API_?KEY|AUTH|HEADER|_URL)\w*=).*`)
	credentials    = regexp.MustCompile(`://[^/\s]*@`)
	// What a shell takes as it is.
	plain = regexp.MustCompile(`^[\w@%+=:,./…-]+$`)
)

// mask leaves out of a word what may be secret.
func mask(word string) string {
	return credentials.ReplaceAllString(secretVariable.ReplaceAllString(word, "${1}…"), "://…@")
}

// quote is a word as a shell takes it.
func quote(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// withoutURL takes the address, which may hold a password, off an error of net/url.
func withoutURL(err error) error {
	var wrong *url.Error
	if errors.As(err, &wrong) {
		return wrong.Err
	}
	return err
}

// command is what a person types to repeat the run.
func (e *engine) command() string {
	if e.options.Command != "" {
		return e.options.Command
	}
	words := []string{"./k6"}
	for _, word := range os.Args[1:] {
		words = append(words, quote(mask(word)))
	}
	return strings.Join(words, " ")
}

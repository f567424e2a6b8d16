package words

import (
	"regexp"
	"strings"
)

var (
	// Names of secret variables, in k6's -e and --env too.
	secretVariable = regexp.MustCompile(
		`(?is)^((?:--env=|-e=?)?(?:\w*(?:TOKEN|PASS|SECRET|CREDENTIAL|API_?KEY|AUTH|HEADER|_URL|_SEND)\w*|BODY)=).*`)
	// A value in the query of a path.
	queryValue  = regexp.MustCompile(`(^|&)([^=&]*=)?[^&]*`)
	credentials = regexp.MustCompile(`://[^/\s]*@`)
	// Words that need no quotes in a shell.
	unquoted = regexp.MustCompile(`^[\w@%+=:,./…-]+$`)
)

// Mask removes secrets from a word.
func Mask(word string) string {
	word = credentials.ReplaceAllString(secretVariable.ReplaceAllString(word, "${1}…"), "://…@")
	path, query, ok := strings.Cut(word, "?")
	if !ok || !strings.Contains(path, "/") {
		return word
	}
	return path + "?" + queryValue.ReplaceAllString(query, "${1}${2}…")
}

// addressMost is the length from which a value in an address may be a secret by its looks.
const addressMost = 20

// secretValue matches names of secrets in the query of an address.
var secretValue = regexp.MustCompile(
	`(?i)^.$|token|pass|pwd|^pw$|secret|credential|key|auth|sig|jwt|session|sid|code|access`)

// MaskAddress removes the secrets of an address, and shows the rest of its query. known is a text that is not a secret.
func MaskAddress(address, known string) string {
	path, query, ok := strings.Cut(credentials.ReplaceAllString(address, "://…@"), "?")
	if !ok {
		return path
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		name, value, named := strings.Cut(pair, "=")
		shown := known != "" && strings.Contains(pair, known) || named && len(value) < addressMost
		if secretValue.MatchString(name) || !shown {
			pairs[i] = Mask(path + "/?" + pair)[len(path)+2:]
		}
	}
	return path + "?" + strings.Join(pairs, "&")
}

// secretName matches what header fields and parameters with secrets are called.
var secretName = regexp.MustCompile(`(?i)token|pass|secret|credential|api[_-]?key|auth|cookie|^key$`)

// IsSecretName reports whether a header field or a parameter has a secret by its name.
func IsSecretName(name string) bool { return secretName.MatchString(name) }

// HasSecretMember reports whether a message of JSON has a member that is a secret by its name.
func HasSecretMember(message string) bool { return secretMember.MatchString(message) }

// secretMember matches a member of JSON with the name of a secret, also in escaped JSON.
var secretMember = regexp.MustCompile(
	`(?i)("[^"\\]*(?:token|pass|secret|credential|api[_-]?key|authorization)[^"\\]*\\*"\s*:\s*\\*")[^"\\]+`)

// MaskMembers removes the secrets of a message of JSON.
func MaskMembers(message string) string { return secretMember.ReplaceAllString(message, "${1}…") }

// Command is the command that repeats a run: ./k6 and its arguments, quoted for a shell, without secrets.
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

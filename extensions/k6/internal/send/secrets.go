package send

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// secretLeast is the length of the shortest value that counts as a secret: a shorter one is in many a text by chance.
const secretLeast = 6

// secretField matches names of header fields whose values are secrets.
var secretField = regexp.MustCompile(`(?i)auth|token|key|secret|cookie|pass|signature`)

// Secrets takes the secrets of the requests out of what a server says: many repeat the path in their answers.
func (o *Ingest) Secrets() *strings.Replacer {
	found := []string{o.Token}
	for name, value := range o.Headers {
		if secretField.MatchString(name) {
			found = append(found, value)
			found = append(found, strings.Fields(value)...) // without its scheme, as Bearer
		}
	}
	for _, path := range []string{o.Path, o.BatchPath} {
		_, query, _ := strings.Cut(path, "?")
		for pair := range strings.SplitSeq(query, "&") {
			_, value, named := strings.Cut(pair, "=")
			if !named {
				value = pair
			}
			found = append(found, value)
			if decoded, err := url.QueryUnescape(value); err == nil {
				found = append(found, decoded)
			}
		}
	}
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) }) // the longest of those at one place
	var replaced []string
	for _, secret := range found {
		if len(secret) >= secretLeast && !strings.Contains(secret, Target) {
			replaced = append(replaced, secret, "…")
		}
	}
	return strings.NewReplacer(replaced...)
}

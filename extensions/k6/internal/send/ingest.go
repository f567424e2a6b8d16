package send

import (
	"errors"
	"fmt"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/arrival-bench/arrival/extensions/k6/internal/address"
)

// Ingest are the settings of the ingest; index.d.ts documents them.
type Ingest struct {
	URL       string            `json:"url"`
	Token     string            `json:"token"` // Bearer; empty: none
	Path      string            `json:"path"`  // the path for one message; may contain Target
	BatchPath string            `json:"batchPath"`
	Headers   map[string]string `json:"headers"`
	KeepAlive bool              `json:"keepAlive"`
	Retries   int               `json:"retries"` // how often a request that was not accepted is repeated

	DiscardBodies bool `json:"-"` // reports have no examples of answers
}

// ours are header fields that the sender writes itself: they frame a request, or are about its connection.
var ours = []string{
	"Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Upgrade", "Expect", "Te", "Trailer",
}

// Target is the placeholder for a message's target in the path. A path can have its bytes as they are.
const Target = "{{target}}"

// Check refuses what no HTTP request can have: all bytes of a path and of a header field go out as they were written.
func (o *Ingest) Check() error {
	if o.URL == "" {
		return errors.New("ingest.url (INGEST_URL) is not set; allowed: http://host:port or https://host:port, or " +
			"start one: npm run pipeline")
	}
	if _, err := address.Parse(address.HTTP, o.URL); err != nil {
		return fmt.Errorf("ingest.url (INGEST_URL): %w", err)
	}
	single := strings.Replace(o.Path, Target, "target", 1)
	paths := []struct{ name, text string }{{"ingest.path (INGEST_PATH)", single}, {"ingest.batchPath", o.BatchPath}}
	if _, under := o.target(""); under != "" {
		paths = append(paths, struct{ name, text string }{"the path of ingest.url (INGEST_URL)", under})
	}
	for _, path := range paths {
		if err := checkPath(path.name, path.text); err != nil {
			return err
		}
	}
	if !httpguts.ValidHeaderFieldValue(o.Token) {
		return errors.New("ingest.token (INGEST_TOKEN) has a line break or another control character, which no " +
			"header field can have")
	}
	for name := range o.Headers {
		if strings.EqualFold(name, "Authorization") && o.Token != "" {
			return errors.New("ingest.headers (HEADERS) has Authorization, and ingest.token (INGEST_TOKEN) is set: " +
				"one of them is allowed")
		}
	}
	return o.checkHeaders()
}

// checkPath refuses a path in one line, which does not show it: its query may hold a secret.
func checkPath(name, path string) error {
	if !strings.HasPrefix(path, "/") {
		return fmt.Errorf("%s does not begin with /; allowed: /messages?x=1", name)
	}
	if strings.Contains(path, "{{") {
		return fmt.Errorf("%s has {{, and placeholders belong in the body; allowed: {{target}}, once, "+
			"in ingest.path (INGEST_PATH)", name)
	}
	for i, c := range []byte(path) {
		if c <= ' ' || c >= 0x7f || c == '#' {
			return fmt.Errorf("%s has at byte %d a character that a path must escape: write %%%02X", name, i+1, c)
		}
	}
	return nil
}

// Targeted reports whether a request names the target of its message.
func (o *Ingest) Targeted() bool { return strings.Contains(o.Path, Target) }

func (o *Ingest) checkHeaders() error {
	seen := map[string]string{}
	names := make([]string, 0, len(o.Headers))
	for name := range o.Headers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if !httpguts.ValidHeaderFieldName(name) {
			return fmt.Errorf("ingest.headers (HEADERS): %q is not the name of a header field: letters, digits and "+
				"- are allowed", name)
		}
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		if slices.Contains(ours, canonical) {
			return fmt.Errorf("ingest.headers (HEADERS): %s is the sender's own; allowed: other fields (keepAlive, "+
				"KEEPALIVE is for connections)", name)
		}
		if other, twice := seen[canonical]; twice {
			return fmt.Errorf("ingest.headers (HEADERS): %s and %s are one field: each may be given once", other, name)
		}
		seen[canonical] = name
		if !httpguts.ValidHeaderFieldValue(o.Headers[name]) {
			return fmt.Errorf("ingest.headers (HEADERS): the value of %s has a line break or another control "+
				"character", name)
		}
	}
	return nil
}

// target splits the URL of a path into its beginning, up to the host, and what a request names: the bytes of both
// paths as they were written (a parser would decode %2F, and resolve /../).
func (o *Ingest) target(path string) (origin, target string) {
	base := strings.TrimSuffix(o.URL, "/")
	begin := strings.Index(base, "://") + len("://")
	end := len(base)
	if slash := strings.IndexByte(base[begin:], '/'); slash >= 0 {
		end = begin + slash
	}
	return base[:end], base[end:] + path
}

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
			found = append(found, strings.Fields(value)...) // the value without its scheme, such as Bearer, is secret too
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

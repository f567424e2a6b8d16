package facts

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// classesMost is how many classes of errors a sentence names.
const classesMost = 3

// Failures says how many requests got no 2xx, and why. An error is counted for each attempt.
func Failures(r *runfile.Run) string {
	n := r.Account.Requests
	if e := refusal(r); e != nil {
		why := e.Class
		if said := sentenceOf(e.Example); said != "" {
			why += ": “" + said + "”"
		}
		return fmt.Sprintf("the ingest refused %s of %s (%s)", words.Count(n.Failed), words.Plural(n.Sent, "request"), why)
	}
	if e := worstRequest(r); e != nil && r.Run.Protocol == "HTTP" && e.Count == n.Failed {
		return fmt.Sprintf("%s of %s got no 2xx (%s)", words.Count(n.Failed), words.Plural(n.Sent, "request"), e.Class)
	}
	why, more := []string{}, 0
	for _, e := range r.Errors {
		switch {
		case e.Stage != runfile.RequestStage:
		case len(why) == classesMost:
			more++
		default:
			why = append(why, fmt.Sprintf("%s × %s", words.Count(e.Count), e.Class))
		}
	}
	s := fmt.Sprintf("%s of %s got no 2xx", words.Count(n.Failed), words.Plural(n.Sent, "request"))
	if protocol := r.Run.Protocol; protocol != "HTTP" {
		s = fmt.Sprintf("%s of %s by %s failed", words.Count(n.Failed), words.Plural(n.Sent, "request"), protocol)
	}
	if len(why) > 0 {
		s += ": " + strings.Join(why, ", ")
	}
	if more > 0 {
		s += " and others"
	}
	return s
}

// refusal is the one status by which an HTTP ingest refused nearly all of the failed requests; nil: they failed in
// several ways, or in another one.
func refusal(r *runfile.Run) *runfile.ErrorClass {
	e := worstRequest(r)
	if e == nil || r.Run.Protocol != "HTTP" || 10*e.Count < 9*r.Account.Requests.Failed {
		return nil
	}
	for _, gateway := range []string{"HTTP 502", "HTTP 504", "HTTP 3"} { // these say nothing about the ingest
		if strings.HasPrefix(e.Class, gateway) {
			return nil
		}
	}
	if !strings.HasPrefix(e.Class, "HTTP 4") && !strings.HasPrefix(e.Class, "HTTP 5") {
		return nil
	}
	return e
}

// saidMost is how many characters of an answer a sentence quotes.
const saidMost = 120

// said are the members of an answer in JSON that hold its sentence (RFC 9457 has detail and title).
var said = []string{"detail", "message", "error", "error_description", "title", "reason"}

// sentenceOf returns the sentence in an answer's body, without the syntax around it; empty: it has none.
func sentenceOf(body string) string {
	text := body
	for range 2 { // {"error": {"message": …}}
		var members map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &members) != nil {
			break
		}
		for _, name := range said {
			if value, ok := members[name]; ok {
				text = string(value)
				break
			}
		}
	}
	var plain string
	if json.Unmarshal([]byte(text), &plain) == nil {
		text = plain
	}
	text = strings.TrimRight(strings.TrimSpace(words.Printable(text)), ".")
	letters := []rune(text)
	if len(letters) <= saidMost {
		return text
	}
	cut := string(letters[:saidMost]) // cut at a space, as half a number is a wrong number
	if at := strings.LastIndexByte(cut, ' '); at > 0 {
		cut = cut[:at]
	}
	return cut + " …"
}

// failing adds the failed requests to an answer; empty: there are none.
func failing(r *runfile.Run) string {
	if r.Account.Requests.Failed == 0 {
		return ""
	}
	text := " " + words.Capital(Failures(r))
	switch url := scene(r).URL; {
	case url == "":
		return text + "."
	case strings.HasSuffix(text, ")"):
		return text + ", posted to " + url + "."
	default:
		return text + " (posted to " + url + ")."
	}
}

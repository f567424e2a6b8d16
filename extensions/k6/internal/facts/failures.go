package facts

import (
	"fmt"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// classesMost is how many classes of errors a sentence names.
const classesMost = 3

// Failures says how many requests got no 2xx, and why. An error is counted for each attempt.
func Failures(r *report.Run) string {
	n := r.Account.Requests
	why, more := []string{}, 0
	for _, e := range r.Errors {
		switch {
		case e.Stage != report.RequestStage:
		case len(why) == classesMost:
			more++
		default:
			why = append(why, fmt.Sprintf("%s × %s", words.Count(e.Count), e.Class))
		}
	}
	s := fmt.Sprintf("%s of %s got no 2xx", words.Count(n.Failed), words.Plural(n.Sent, "request"))
	if protocol := r.Run.RequestProtocol(); protocol != "HTTP" {
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

// failing adds the failed requests to an answer; empty: there are none.
func failing(r *report.Run) string {
	if r.Account.Requests.Failed == 0 {
		return ""
	}
	if url := scene(r).URL; url != "" {
		return " " + words.Capital(Failures(r)) + " (posted to " + url + ")."
	}
	return " " + words.Capital(Failures(r)) + "."
}

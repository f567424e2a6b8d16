package facts

import (
	"regexp"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

var countedEnd = regexp.MustCompile(`^(\S+): ([\d,]+)(?: of [\d,]+)? messages?$`)

// furtherReasons are the reasons of the verdict that the answer's sentence does not hold already.
func furtherReasons(r *runfile.Run) []string {
	further := []string{}
	sentence := strings.ToLower(r.Answer.Sentence)
	for _, reason := range r.Verdict.Reasons {
		said := strings.ToLower(strings.TrimSuffix(reason, "."))
		if end := countedEnd.FindStringSubmatch(said); end != nil { // rejected: 78,751 messages
			said = end[2] + " " + end[1]
		}
		if figure, _, limit := strings.Cut(said, ", limit "); limit { // the sentence says that it is above its limit
			said = figure + " is above the limit"
		}
		if !strings.Contains(sentence, said) {
			further = append(further, reason)
		}
	}
	return further
}

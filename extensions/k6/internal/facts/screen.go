package facts

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// backFactor is how many times the p99 before a burst is back to normal, unless the script says otherwise.
const backFactor = 2

// screen sets what reports show first: tiles, titles of charts, and what these are made of. best is the held rate.
func screen(r *runfile.Run, best held) {
	r.Facts.Shape, r.Facts.Reasons = ShapeOf(r), furtherReasons(r)
	f := runfile.FirstScreen{DurationS: durationS(r), Recovery: r.Facts.Recovery, Phases: phases(r)}
	if r.Account.Balanced {
		f.P99Over = p99Over(r)
		f.USL, f.ByLoad, f.SlowerRequests = NewUSL(r.Steps), byLoad(r), slowerRequests(r)
		if r.Facts.Shape != runfile.SweepShape { // an interval of all steps is that of none
			f.P99Interval = NewInterval(r)
		}
	}
	f.Warnings = warnings(r)
	r.Facts.FirstScreen = f
	r.Facts.Tiles, r.Facts.Titles = tiles(r, best), titles(r)
}

// durationS is the time from start to end of a run; nil: it has not ended.
func durationS(r *runfile.Run) *float64 {
	if r.Run.Ended == nil {
		return nil
	}
	from, err := time.Parse(time.RFC3339, r.Run.Started)
	if err != nil {
		return nil
	}
	to, err := time.Parse(time.RFC3339, *r.Run.Ended)
	if err != nil {
		return nil
	}
	return new(to.Sub(from).Seconds())
}

// phases are the facts of each step.
func phases(r *runfile.Run) []runfile.PhaseFacts {
	all := make([]runfile.PhaseFacts, len(r.Steps))
	for i := range r.Steps {
		s, one := &r.Steps[i], &all[i]
		if s.DurationS > 0 {
			one.RequestsPerS = float64(s.Requests) / s.DurationS
		}
		whole := s.Latency.Arrival.Mean
		if whole == nil || *whole <= 0 || !r.Account.Balanced {
			continue
		}
		for _, stage := range r.Stages {
			mean := s.Latency.Stages[stage.Name].Mean
			if mean != nil && *mean > 0 && (one.LargestShare == nil || *mean / *whole > *one.LargestShare) {
				one.LargestStage, one.LargestShare = stage.Name, new(*mean / *whole)
			}
		}
	}
	return all
}

// slowerRequests says why requests may take longer than arrivals, where they do.
func slowerRequests(r *runfile.Run) string {
	of := scopeOf(r)
	arrival, http := of.Arrival.At(99), of.HTTP.At(99)
	if arrival == nil || http == nil || *http <= *arrival || r.Run.Protocol != "HTTP" ||
		refusedShare(r) > mostRefused {
		return ""
	}
	return "The answer can be slower than the arrival: the ingest answers after Redis has confirmed, " +
		"and by then the message may have arrived."
}

// countedEnd is a reason that counts the messages of an end, with what it says of it; what follows a semicolon is more.
var countedEnd = regexp.MustCompile(`^(\S+): ([\d,]+)(?: of [\d,]+)? (?:messages?|deliveries)\b[^;]*$`)

// notMeasured is the reason of a run without a delivery to judge.
const notMeasured = "no delivery was measured"

// furtherReasons are the reasons of the verdict that neither its meaning nor the answer's sentence holds already.
func furtherReasons(r *runfile.Run) []string {
	further := []string{}
	above := strings.ToLower(r.Verdict.Meaning + "\n" + r.Answer.Sentence)
	unmeasured := slices.ContainsFunc(r.Verdict.Reasons, isUnmeasured)
	for _, reason := range r.Verdict.Reasons {
		if why, cause, found := strings.Cut(reason, "; "); found && strings.HasPrefix(why, notMeasured) &&
			strings.Contains(above, strings.ToLower(cause)) {
			reason = why
		}
		if !repeats(above, reason) && !countedReason(r, reason) && !(unmeasured && strings.Contains(reason, " n/a, limit ")) {
			further = append(further, reason)
		}
	}
	return further
}

// isUnmeasured reports whether a reason is that no delivery was measured.
func isUnmeasured(reason string) bool { return strings.HasPrefix(reason, notMeasured) }

// countedReason reports whether a reason is that of a limit of k6 on the requests that the answer counts.
func countedReason(r *runfile.Run, reason string) bool {
	return slices.ContainsFunc(r.Verdict.Rules, func(rule runfile.Rule) bool {
		return rule.Reason == reason && rule.Name != runfile.FailedRequests && counted(r, rule)
	})
}

// repeats reports whether a reason is said in a text of small letters already.
func repeats(text, reason string) bool {
	said := strings.ToLower(strings.TrimSuffix(reason, "."))
	if end := countedEnd.FindStringSubmatch(said); end != nil { // rejected: 78,751 messages
		name, n := end[1], end[2]
		if strings.HasPrefix(name, "misdeliver") && strings.Contains(text, n+" messages came to another recipient") {
			return true
		}
		if strings.Contains(text, n+" messages were "+name) || n == "1" && strings.Contains(text, "1 message was "+name) {
			return true // the verdict's line has it
		}
		said = n + " " + name
	}
	if figure, limit, found := strings.Cut(said, ", limit "); found {
		// The sentence says that it is above its limit.
		number := strings.TrimLeft(limit, "<>=≤≥≠ ")
		if strings.Contains(text, figure+" is above the limit of "+number) {
			return true
		}
	}
	return strings.Contains(text, said)
}

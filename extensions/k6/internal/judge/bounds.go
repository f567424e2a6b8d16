package judge

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/facts"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// Arrival from due never flatters: in a pipeline that serves in order, messages that are sent later than due arrive no
// earlier than if all had been sent when due. So a limit that holds with the generator's lateness inside holds. And
// if no message of a busy period is later than some time, none arrives later by more than that time: arrival less that
// lateness is a reading from below.

// reading is the span in which a figure lies, whatever the instrument did.
type reading struct{ low, high float64 }

// bounded decides a limit by the two readings of its figure, given the rules on the instrument. A rule that is not
// broken puts nothing in doubt.
func bounded(r *report.Run, limit report.Rule, about subject, instrument []report.Rule) report.Rule {
	if limit.OK == nil || limit.Value == nil || limit.Limit == nil {
		return limit
	}
	span := reading{*limit.Value, *limit.Value}
	for _, rule := range instrument {
		if !rule.IsBroken() {
			continue
		}
		for _, doubt := range rule.Doubts {
			if !slices.Contains(about.claims, doubt.Claim) {
				continue
			}
			span = span.widened(about.reading(r, rule.Name, doubt.Direction, limit))
			limit.DoubtedBy = append(limit.DoubtedBy, rule.Name)
		}
	}
	if len(limit.DoubtedBy) == 0 {
		return limit
	}
	limit.DoubtedBy = slices.Compact(limit.DoubtedBy)
	limit.AtLeast, limit.AtMost = known(span.low), known(span.high)
	switch held, broken := span.against(limit.Op, *limit.Limit); {
	case held:
		limit.OK, limit.Reason = new(true), ""
	case broken:
		limit.OK = new(false)
		if limit.Reason == "" {
			limit.Reason = limit.Broken()
		}
	default:
		limit.OK, limit.Undecided = nil, true
		limit.Reason = undecided(limit)
	}
	return limit
}

// undecided says between which readings a limit lies.
func undecided(limit report.Rule) string {
	span := "may be any"
	switch low, high := limit.AtLeast, limit.AtMost; {
	case low != nil && high != nil:
		span = fmt.Sprintf("lies between %s and %s", words.Figure(low), words.WithUnit(high, limit.Unit))
	case low != nil:
		span = "is at least " + words.WithUnit(low, limit.Unit)
	case high != nil:
		span = "is at most " + words.WithUnit(high, limit.Unit)
	}
	return fmt.Sprintf("undecided: %s; the pipeline's own %s (%s)", limit.Broken(), span, strings.Join(limit.DoubtedBy, ", "))
}

func (s reading) widened(by reading) reading {
	return reading{min(s.low, by.low), max(s.high, by.high)}
}

// against reports whether every value of the span holds a limit, and whether none does.
func (s reading) against(op string, limit float64) (held, broken bool) {
	low, high := Holds(s.low, op, limit), Holds(s.high, op, limit)
	switch op {
	case "<", "<=", ">", ">=":
		return low && high, !low && !high
	case "!=":
		inside := s.low <= limit && limit <= s.high
		return !inside, inside && s.low == s.high
	}
	inside := s.low <= limit && limit <= s.high
	return inside && s.low == s.high, !inside
}

// known is nil for a reading without a bound.
func known(v float64) *float64 {
	if math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// subject is what a limit is about.
type subject struct {
	claims []string
	share  bool // of deliveries in time: the higher, the better
}

// subjects are those of metrics by the beginning of their name; the first one counts. What no row names is a figure of
// the script's own.
var subjects = []struct {
	metric string
	subject
}{
	{"arrival_p99", subject{claims: []string{report.ArrivalClaim}}},
	{"arrival_latency", subject{claims: []string{report.ArrivalClaim, report.SamplesClaim}}},
	{report.WithinPrefix, subject{claims: []string{report.ArrivalClaim}, share: true}},
	{"arrival_lost", subject{claims: []string{report.AccountClaim}}},
	{"arrival_", subject{}}, // counts are what they are, however late the generator was
	{"spike_", subject{claims: []string{report.ArrivalClaim}}},
	{"soak_latency_", subject{claims: []string{report.ArrivalClaim}}},
	{"backlog_growth", subject{claims: []string{report.ArrivalClaim}}},
	{"http_req_failed", subject{claims: []string{report.SamplesClaim}}},
	{"http_req", subject{claims: []string{report.RequestsClaim, report.SamplesClaim}}},
}

// endSubject is that of the rule on an end of the account: a loss may be that of the subscriber's connection.
func endSubject(name string) subject {
	if name == "lost" {
		return subject{claims: []string{report.AccountClaim}}
	}
	return subject{}
}

// subjectOf is that of a script's limit.
func subjectOf(name string) subject {
	for _, s := range subjects {
		if strings.HasPrefix(name, s.metric) {
			return s.subject
		}
	}
	return subject{claims: []string{report.SamplesClaim}}
}

// reading is what a figure may be where a broken rule puts it in doubt.
func (s subject) reading(r *report.Run, rule, direction string, limit report.Rule) reading {
	low, high := math.Inf(-1), math.Inf(1)
	if limit.Unit == "ms" || limit.Unit == "messages" {
		low = 0
	}
	value := *limit.Value
	if rule == "lateness" {
		low, high = s.late(r, limit)
	}
	if s.share { // a latency that is too high makes the share too low
		switch direction {
		case report.TooHigh:
			return reading{value, min(high, 100)}
		case report.TooLow:
			return reading{max(low, 0), value}
		}
		return reading{max(low, 0), min(high, 100)}
	}
	switch direction {
	case report.TooHigh:
		return reading{low, value}
	case report.TooLow:
		return reading{value, high}
	}
	return reading{low, high}
}

// late bounds a figure by the generator's lateness.
func (s subject) late(r *report.Run, limit report.Rule) (low, high float64) {
	value, most := *limit.Value, facts.LatestMS(r)
	switch {
	case s.share:
		_, within, _ := report.WithinMetric(limit.Name)
		return 0, 100 * facts.PunctualWithin(r, float64(within.Microseconds())/1000)
	case limit.Name == report.P99Rule:
		return max(0, value-most, facts.PunctualMS(r, 0.99)), value + most
	case limit.Unit == "ms":
		return max(0, value-most), value + most
	}
	return math.Inf(-1), math.Inf(1)
}

package judge

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/facts"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// Arrival from due never flatters: in a pipeline that serves in order, messages that are sent later than due arrive no
// earlier than if all had been sent when due. So a limit that holds with the generator's lateness inside holds. From
// below there is a reading too (facts.Punctual): a limit that it breaks is broken.

// reading is the span in which a figure lies, whatever the instrument did.
type reading struct{ low, high float64 }

// bounded decides a limit by the two readings of its figure, given the rules on the instrument. A rule that is not
// broken puts nothing in doubt, save the lateness: a limit is broken only by more than it.
func bounded(r *runfile.Run, limit runfile.Rule, about subject, instrument []runfile.Rule) runfile.Rule {
	if limit.OK == nil || limit.Value == nil || limit.Limit == nil {
		return limit
	}
	d := doubts{run: r, limit: limit, about: about}
	for _, rule := range instrument {
		if rule.IsBroken() {
			d.add(rule)
		}
	}
	if !*limit.OK && !slices.Contains(d.by, lateRule) && d.bounds() {
		if _, known := facts.LatestMS(r); known {
			d.add(runfile.Rule{Name: lateRule, Doubts: []runfile.Doubt{doubt(runfile.ArrivalClaim, runfile.TooHigh)}})
		}
	}
	if len(d.by) == 0 {
		return limit
	}
	limit.DoubtedBy = d.by
	span := d.reading()
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
func undecided(limit runfile.Rule) string {
	span := "may be any"
	switch low, high := limit.AtLeast, limit.AtMost; {
	case low != nil && high != nil:
		span = fmt.Sprintf("lies between %s and %s", words.Figure(low), words.WithUnit(high, limit.Unit))
	case low != nil:
		span = "is at least " + words.WithUnit(low, limit.Unit)
	case high != nil:
		span = "is at most " + words.WithUnit(high, limit.Unit)
	}
	return fmt.Sprintf("undecided: %s; the pipeline's own %s (%s)", limit.Broken(), span,
		strings.Join(limit.DoubtedBy, ", "))
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
	share  bool // it is a share of deliveries in time: the higher, the better
	change bool // between two times of the run: a latency that is too high in the first makes it too low
}

// subjects are the subjects of metrics by the beginning of their name; the first match counts. Any other metric is of
// the script's own.
var subjects = []struct {
	metric string
	subject
}{
	{"arrival_p99", subject{claims: []string{runfile.ArrivalClaim}}},
	{"arrival_latency", subject{claims: []string{runfile.ArrivalClaim, runfile.SamplesClaim}}},
	{runfile.WithinPrefix, subject{claims: []string{runfile.ArrivalClaim}, share: true}},
	{"arrival_lost", subject{claims: []string{runfile.AccountClaim}}}, // a loss may be that of the subscriber's connection
	{"arrival_", subject{}}, // counts are what they are, however late the generator was
	{"spike_", subject{claims: []string{runfile.ArrivalClaim}, change: true}},
	{"soak_latency_", subject{claims: []string{runfile.ArrivalClaim}, change: true}},
	{"backlog_growth", subject{claims: []string{runfile.ArrivalClaim}}}, // a load that lagged behind was not offered,
	{"http_req_failed", subject{claims: []string{runfile.SamplesClaim}}},
	{"http_reqs", subject{claims: []string{runfile.SamplesClaim}}}, // a count
	{"http_req", subject{claims: []string{runfile.RequestsClaim, runfile.SamplesClaim}}},
}

// subjectOf returns the subject of a script's limit.
func subjectOf(name string) subject {
	for _, s := range subjects {
		if strings.HasPrefix(name, s.metric) {
			return s.subject
		}
	}
	return subject{claims: []string{runfile.SamplesClaim}}
}

// doubts are what the broken rules say of the figure of a limit.
type doubts struct {
	run   *runfile.Run
	limit runfile.Rule
	about subject
	by    []string // the rules

	high, low bool    // the figure may be too high, or too low
	unbounded bool    // the error may be of any size
	wait      float64 // ms that arrivals may have been unread
}

// add adds a broken rule, if it is about the figure.
func (d *doubts) add(rule runfile.Rule) {
	for _, doubt := range rule.Doubts {
		if !slices.Contains(d.about.claims, doubt.Claim) {
			continue
		}
		if !slices.Contains(d.by, rule.Name) {
			d.by = append(d.by, rule.Name)
		}
		d.high = d.high || d.about.change || doubt.Direction != runfile.TooLow
		d.low = d.low || d.about.change || doubt.Direction != runfile.TooHigh
		health := d.run.Health
		if wait := health.SocketWait; wait != nil && wait.Max != nil && doubt.Claim == runfile.ArrivalClaim {
			d.wait = *wait.Max // what paused the senders may have paused the reader
		}
		// A wait behind the kernel's stamp only adds. What a script reads may have waited before, too.
		stamped := health.ArrivalStamps.Read == 0 && health.ArrivalStamps.Kernel > 0 && health.SocketWait != nil
		if rule.Name != lateRule && !(rule.Name == "socket_wait" && stamped) {
			d.unbounded = true
		}
	}
}

// reading is what the figure may be.
func (d *doubts) reading() reading {
	value, low, high := *d.limit.Value, math.Inf(-1), math.Inf(1)
	if !d.unbounded {
		low, high = d.around(value)
	}
	switch d.limit.Unit {
	case "ms", "messages":
		low = max(low, 0)
	case "%":
		low, high = max(low, 0), min(high, 100)
	}
	if d.about.share { // a latency that is too high makes the share too low
		d.high, d.low = d.low, d.high
	}
	if !d.high {
		low = value
	}
	if !d.low {
		high = value
	}
	return reading{min(low, value), max(high, value)}
}

// bounds reports whether the lateness of the generator bounds the figure, which is about arrivals.
func (d *doubts) bounds() bool {
	_, known := facts.LatestMS(d.run)
	return known && slices.Contains(d.about.claims, runfile.ArrivalClaim) && (d.about.share || d.limit.Unit == "ms") &&
		!d.about.change
}

// around are the bounds of a figure whose generator was late in sending, reading or both.
func (d *doubts) around(value float64) (low, high float64) {
	most, known := facts.LatestMS(d.run)
	longest, recovers := facts.LongestS(d.run, d.limit.Name)
	switch _, within, _ := runfile.WithinMetric(d.limit.Name); {
	case !known && (d.about.share || slices.Contains(d.by, lateRule)):
	case d.about.share:
		return 0, 100 * facts.NewPunctual(d.run, d.wait).Within(float64(within.Microseconds())/1000)
	case recovers:
		return math.Inf(-1), longest
	case d.limit.Unit == "ms" || d.about.change: // a change is in ms, though its metric has no unit
		most = facts.Overtaking*most + d.wait
		low, high = value-most, value+most
		if known && d.limit.Name == runfile.P99Rule {
			low = max(low, facts.NewPunctual(d.run, d.wait).Quantile(0.99))
		}
		return low, high
	}
	return math.Inf(-1), math.Inf(1)
}

// lateRule is the name of the rule on the lateness in sending.
const lateRule = "lateness"

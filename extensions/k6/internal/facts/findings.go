package facts

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

const (
	Full        = 95 // % of a core, or of all that a host has: a process or a host that uses as much is saturated
	fullSeconds = 3  // a saturation that lasts so many seconds is a finding
	gaveWay     = 3  // a stage has given way when its mean is more than so many times the mean before
	worstMuch   = 2  // the worst second stands out when its p99 is so many times the run's p50
)

// findings lists what stands out: requests that failed, the worst second, then what gave way.
func findings(r *runfile.Run) []runfile.Finding {
	found := []runfile.Finding{}
	if r.Account.Requests.Failed > 0 {
		f := runfile.Finding{Text: words.Capital(Failures(r)) + ".", Worry: true}
		if e := worstRequest(r); e != nil {
			f.Next = adviceOn(e.Class)
			if strings.HasPrefix(e.Class, "HTTP 503") && refusal(r) != nil && sentenceOf(e.Example) != "" { // it says why
				f.Next = "lower the rate, or let the ingest take more"
			}
		}
		found = append(found, f)
	}
	if f := worstSecond(r); f != nil && r.Account.Balanced {
		found = append(found, *f)
	}
	add := func(f *runfile.Finding) {
		if f != nil {
			f.Worry = true
			found = append(found, *f)
		}
	}
	for _, resource := range r.Resources {
		add(fullCore(r, resource))
	}
	host := host(r)
	saturated := false
	if host != nil {
		f := fullHost(host)
		saturated = f != nil
		add(f)
	}
	for _, f := range grownBacklogs(r) {
		add(&f)
	}
	if host != nil {
		for _, f := range vmstat(r, host, saturated) {
			add(&f)
		}
	}
	adviseOnce(r, found)
	return found
}

// adviseOnce leaves the advice of one finding: of the first that gave way, or of the first one if the run failed. Where
// nothing gave way there is nothing to do, and an undecided run has its advice in the answer.
func adviseOnce(r *runfile.Run, found []runfile.Finding) {
	done := r.Verdict.Result == runfile.Invalid
	gaveWay := slices.ContainsFunc(found, func(f runfile.Finding) bool { return f.Worry && f.Next != "" })
	for i := range found {
		f := &found[i]
		if done || r.Verdict.Result == runfile.Pass || f.Worry != gaveWay || !gaveWay && r.Verdict.Result != runfile.Fail {
			f.Next = ""
		}
		f.Next = advised(r, f.Next)
		done = done || f.Next != ""
	}
}

// warningsMost is how many warnings a line names.
const warningsMost = 3

// warnings counts what gave way in a run beside what the answer says, and names the first ones in a few words; empty:
// nothing did.
func warnings(r *runfile.Run) string {
	var all []string
	for _, f := range r.Findings {
		if !f.Worry || r.Says(f) {
			continue
		}
		short := f.Short()
		for _, first := range []string{"The ", "In "} {
			if rest, found := strings.CutPrefix(short, first); found {
				short = strings.ToLower(first) + rest
			}
		}
		all = append(all, short)
	}
	if len(all) == 0 {
		return ""
	}
	named, more := all[:min(warningsMost, len(all))], ""
	if len(all) > warningsMost {
		more = "; …"
	}
	return fmt.Sprintf("%s: %s%s", words.Plural(len(all), "warning"), strings.Join(named, "; "), more)
}

// worstSecond is the second with the highest p99 of deliveries of measured phases; nil: it does not stand out.
func worstSecond(r *runfile.Run) *runfile.Finding {
	var worst *runfile.Interval
	for _, s := range arrivalSeconds(r) {
		if p99 := s.Arrival.P99OrNil(); p99 != nil && (worst == nil || *p99 > *worst.Arrival.P99) {
			worst = s
		}
	}
	whole := r.Latency.Arrival.At(50)
	if worst == nil || whole == nil || *worst.Arrival.P99 < worstMuch*(*whole) {
		return nil
	}
	held, next := "", ""
	if most := longestOfSecond(r, worst); most != nil {
		held = fmt.Sprintf("; %s took %s of its mean", most.Stage, words.Percent(most.Share))
		next = stageAdvice[most.Stage]
	}
	return &runfile.Finding{
		Text: fmt.Sprintf("The worst second is %s, with arrival p99 %s ms%s.", moment(worst.T),
			words.MS(worst.Arrival.P99), held),
		Next: next,
		Span: span(worst.T, worst.T+1),
	}
}

// fullCore is about a process that had no core left, and the stage that grew meanwhile. A generator has threads: its
// CPU has a rule.
func fullCore(r *runfile.Run, resource runfile.Resource) *runfile.Finding {
	if generates(r, resource.Process) || resource.Process == "host" {
		return nil
	}
	from, to := longestStretch(len(resource.Series), 1, func(i int) (int, bool) {
		row := resource.Series[i]
		return int(at(row[:], 0, 0)), at(row[:], 1, 0) >= Full
	})
	if from < 0 {
		return nil
	}
	before, then, known := map[string][]float64{}, map[string][]float64{}, false
	for _, s := range r.Timeline {
		part := then
		if s.T < from {
			part, known = before, known || s.Stages != nil
		} else if s.T >= to {
			continue
		}
		for stage, v := range s.Stages {
			part[stage] = append(part[stage], v)
		}
	}
	gave := ""
	if known { // a process that was full from the first second has nothing before it to compare with
		most, rise := "", math.Inf(-1)
		for _, stage := range r.Stages {
			if grew := meanOr0(then[stage.Name]) - meanOr0(before[stage.Name]); grew > rise {
				most, rise = stage.Name, grew
			}
		}
		gave = "; no stage gave way"
		if was, is := meanOr0(before[most]), meanOr0(then[most]); was > 0 && is > gaveWay*was {
			gave = fmt.Sprintf(": %s gave way, %s ms before and %s ms then", most, words.MS(&was), words.MS(&is))
		}
	}
	return &runfile.Finding{
		Text: fmt.Sprintf("%s used %d %% of a core or more from %s to %s%s.", words.Short(resource.Process), Full,
			moment(from), moment(to), gave),
		Next: cmp.Or(processAdvice[runfile.RoleOf(resource.Process)], "give it more processes or less work"),
		Span: span(from, to),
	}
}

// generates reports whether a process is a generator, or the recorder beside it.
func generates(r *runfile.Run, process string) bool {
	tool := r.Run.Tool.Name
	return process == tool || process == "recorder" || slices.ContainsFunc(r.Generators, func(p runfile.Instance) bool {
		return process == fmt.Sprintf("%s-%d", tool, p.Number)
	})
}

// longestStretch is the longest stretch of rows, each of so many seconds, in which something held; from < 0: it was not
// long enough.
func longestStretch(rows, width int, row func(i int) (t int, held bool)) (from, to int) {
	from, begun, end := -1, -1, 0
	for i := range rows {
		t, held := row(i)
		if t-end >= fullSeconds { // a gap without rows ends the saturation, as nothing is known of it
			begun = -1
		}
		end = t + width
		switch {
		case !held:
			begun = -1
			continue
		case begun < 0:
			begun = t
		}
		if end-begun >= fullSeconds && (from < 0 || end-begun > to-from) {
			from, to = begun, end
		}
	}
	return from, to
}

// present are the values of a column that are not null.
func present(column []*float64) (values []float64) {
	for _, v := range column {
		if v != nil {
			values = append(values, *v)
		}
	}
	return values
}

// at is a cell of a column, or another value where there is none.
func at(column []*float64, i int, otherwise float64) float64 {
	if i >= len(column) || column[i] == nil {
		return otherwise
	}
	return *column[i]
}

func meanOr0(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return sumOf(values) / float64(len(values))
}

func sumOf(values []float64) (sum float64) {
	for _, value := range values {
		sum += value
	}
	return sum
}

func moment(second int) string { return words.Moment(time.Duration(second) * time.Second) }

func span(from, to int) *runfile.Span { return &runfile.Span{FromS: float64(from), ToS: float64(to)} }

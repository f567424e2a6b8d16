package facts

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// found returns the findings whose text matches pattern.
func found(r *runfile.Run, pattern string) (about []runfile.Finding) {
	for _, f := range findings(r) {
		if regexp.MustCompile(pattern).MatchString(f.Text) {
			about = append(about, f)
		}
	}
	return about
}

func resource(t *testing.T, r *runfile.Run, process string) *runfile.Resource {
	t.Helper()
	for i := range r.Resources {
		if r.Resources[i].Process == process {
			return &r.Resources[i]
		}
	}
	require.Fail(t, "no "+process)
	return nil
}

func TestASaturatedProcessNamesTheStageThatGaveWay(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	broker := resource(t, r, "mosquitto")
	use := func(of func(second int) float64) {
		for i, row := range broker.Series {
			broker.Series[i][1] = new(of(int(*row[0])))
		}
	}
	delivery := func(from int, ms float64) {
		for _, s := range r.Timeline {
			if s.T >= from && s.Stages != nil {
				s.Stages["delivery"] = ms
			}
		}
	}
	use(func(second int) float64 {
		if second >= 31 {
			return 99
		}
		return 40
	})
	delivery(31, 30)
	f := found(r, "^mosquitto ")
	require.Len(t, f, 1)
	assert.True(t, f[0].Worry)
	assert.InDelta(t, 31, f[0].Span.FromS, 0)
	assert.Greater(t, f[0].Span.ToS, 45.0)
	assert.Regexp(t, `from 0:31 to 0:\d\d: delivery gave way, 0\.\d+ ms before and 30\.0 ms then\.$`, f[0].Text)
	delivery(0, 0.4)
	assert.Len(t, found(r, "^mosquitto .*; no stage gave way"), 1)
	use(func(int) float64 { return 99 })
	assert.Len(t, found(r, "^mosquitto .* from 0:00 to [0-9:]+\\.$"), 1, "no stage is named without a time before")
	use(func(second int) float64 { return 99 - float64(second%2*9) })
	assert.Empty(t, found(r, "^mosquitto "), "single seconds are not enough")
	use(func(int) float64 { return 99 })
	whole := broker.Series
	broker.Series = append(whole[:5:5], whole[20:22]...)
	f = found(r, "^mosquitto ")
	require.Len(t, f, 1)
	assert.Equal(t, &runfile.Span{FromS: *whole[0][0], ToS: *whole[4][0] + 1}, f[0].Span,
		"regression: seconds without a reading counted, as of a process that was down")
	broker.Series = whole
	broker.Process = "k6-2"
	assert.NotEmpty(t, found(r, "^k6-2 "))
	r.Generators = []runfile.Instance{{Number: 2}}
	assert.Empty(t, found(r, "^k6-2 "), "a generator has several threads")
}

func TestASaturatedHostIsFound(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	figures := resource(t, r, "host").Figures
	set := func(of func(second int) (id, wa, st float64)) {
		for i, at := range figures.T {
			id, wa, st := of(at)
			figures.Gauges["id"][i], figures.Gauges["wa"][i], figures.Gauges["st"][i] = &id, &wa, &st
		}
	}
	during := func(from, to int, then, otherwise float64) func(int) (float64, float64, float64) {
		return func(second int) (float64, float64, float64) {
			if second >= from && second < to {
				return then, 0, 0
			}
			return otherwise, 0, 0
		}
	}
	const about = "^The host was saturated"
	assert.Empty(t, found(r, about))
	set(during(31, 36, 5, 5.1))
	f := found(r, about)
	require.Len(t, f, 1)
	assert.Equal(t, &runfile.Span{FromS: 31, ToS: 36}, f[0].Span)
	set(during(31, 33, 0, 50))
	assert.Empty(t, found(r, about), "two seconds are too few")
	set(func(int) (float64, float64, float64) { return 1, 60, 0 })
	assert.Empty(t, found(r, about), "I/O wait is idle time")
	set(func(int) (float64, float64, float64) { return 1, 0, 40 })
	assert.NotEmpty(t, found(r, about), "steal is not idle time")
	assert.Empty(t, found(r, "used 95 % of a core"))
	for i := range figures.T {
		figures.T[i] *= 12
	}
	figures.BinS = 12
	set(during(24, 25, 0, 50))
	f = found(r, about)
	require.Len(t, f, 1, "one bin of a long run is enough")
	assert.Equal(t, &runfile.Span{FromS: 24, ToS: 36}, f[0].Span)
	figures.Gauges = nil
	assert.Empty(t, found(r, about))
}

func TestAGrowingBacklogIsFound(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	assert.Empty(t, found(r, "more messages came"))
	for i := range r.Timeline {
		r.Timeline[i].Backlog = max(3, (i-29)*500)
	}
	f := found(r, "^In “sustained” more messages came .* from 500 to 10,000 deliveries")
	require.Len(t, f, 1)
	assert.Equal(t, &runfile.Span{FromS: 30, ToS: 50}, f[0].Span)
	for i := range r.Timeline {
		r.Timeline[i].Backlog = max(3, (i-9)*500)
	}
	f = found(r, "more messages came")
	require.Len(t, f, 1, "phases that follow each other have one finding")
	assert.Regexp(t, "^In “ramp” and “sustained” .* from 500 to 20,000 deliveries", f[0].Text)
	assert.Equal(t, &runfile.Span{FromS: 10, ToS: 50}, f[0].Span)
	for i := range r.Steps {
		r.Steps[i].Measured = false
	}
	assert.Empty(t, found(r, "more messages came"))
}

func TestVmstatRulesOfThumb(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	gauges := resource(t, r, "host").Figures.Gauges
	set := func(name string, value float64) {
		gauges[name] = make([]*float64, len(gauges["id"]))
		for i := range gauges[name] {
			gauges[name][i] = &value
		}
	}
	const about = "^In .* of the run|swapped|hypervisor"
	set("id", 60)
	assert.Empty(t, found(r, about))
	set("id", 1)
	set("cs", 40_000)
	assert.Empty(t, found(r, about), "the finding of a saturated host says it")
	assert.Len(t, found(r, "^The host was saturated"), 1)
	for i := 0; i < len(gauges["id"]); i += 2 { // never for three seconds
		gauges["id"][i] = new(60.0)
	}
	assert.Regexp(t, "^In \\d+ % of the run the host was less than 5 % idle with more than 10,000 context switches",
		found(r, about)[0].Text)
	set("id", 45)
	set("in", 60_000)
	assert.Regexp(t, "^In 100 % of the run the host was 40 to 50 % idle .* network interface", found(r, about)[0].Text)
	set("id", 60)
	set("so", 4)
	set("st", 3)
	gauges["st"][0] = nil
	f := found(r, about)
	require.Len(t, f, 2)
	assert.Regexp(t, "^The hypervisor took 3(.00)? %", f[0].Text)
	assert.Regexp(t, "^The host swapped", f[1].Text)
	assert.Nil(t, f[1].Span, "the whole run")
}

// Regression: a green run with p99 at 5 of 250 ms had the advice to start more relays, a saturated host three of them.
func TestARunHasOneAdviceAndAGreenOneNone(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	r.Timeline[35].Arrival.P99 = new(12.0)
	advice := func() (n int) {
		for _, f := range findings(r) {
			if f.Next != "" {
				n++
			}
		}
		return n
	}
	require.NotEmpty(t, findings(r))
	assert.Zero(t, advice(), "nothing gave way")
	r.Verdict.Result = runfile.Fail
	assert.Equal(t, 1, advice())
	gauges := resource(t, r, "host").Figures.Gauges
	for i := range gauges["id"] {
		gauges["id"][i] = new(1.0)
	}
	for i := range r.Timeline {
		r.Timeline[i].Backlog = max(3, (i-29)*500)
	}
	assert.Equal(t, 1, advice())
	r.Verdict.Result = runfile.Invalid
	assert.Zero(t, advice(), "the answer has it")
}

func TestTheWorstSecondIsFoundIfItStandsOut(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	const about = "^The worst second"
	r.Timeline[35].Arrival.P99 = new(312.0)
	r.Timeline[35].Stages["queue"] = 100
	f := found(r, about)
	require.Len(t, f, 1)
	assert.False(t, f[0].Worry)
	assert.Equal(t, &runfile.Span{FromS: 35, ToS: 36}, f[0].Span)
	assert.Regexp(t, `is 0:35, with arrival p99 312 ms; queue took 9\d % of its mean\.`, f[0].Text)
	r.Account.Balanced = false
	assert.Empty(t, found(r, about), "no latency without a balanced account")
	r.Account.Balanced = true
	for i := range r.Timeline {
		if s := &r.Timeline[i]; s.Arrival != nil {
			s.Arrival.P99 = new(1.99 * *r.Latency.Arrival.P50)
		}
	}
	assert.Empty(t, found(r, about))
}

func TestFindingsAreShortAndNeverNull(t *testing.T) {
	t.Parallel()
	r := golden(t, "started")
	assert.Equal(t, []runfile.Finding{}, findings(r))
	r = golden(t, "passing")
	broker := resource(t, r, "mosquitto")
	broker.Process = strings.Repeat("ж", 10_000)
	for i := range broker.Series {
		broker.Series[i][1] = new(100.0)
	}
	for _, f := range found(r, "ж") {
		assert.Less(t, len(f.Text), 400)
	}
}

func TestWarningsAreCountedAndNamedInAFewWords(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	Conclude(r, "")
	assert.Empty(t, r.Facts.Warnings)
	gauges := resource(t, r, "host").Figures.Gauges
	for i := range gauges["id"] {
		gauges["id"][i], gauges["st"][i] = new(1.0), new(10.0)
	}
	for i := range r.Timeline {
		r.Timeline[i].Backlog = max(3, (i-29)*500)
	}
	Conclude(r, "")
	assert.Regexp(t, `^3 warnings: the host was saturated from 0:00 to 0:\d\d; `+
		`in “sustained” more messages came than the pipeline carried; the hypervisor took 10 % of the host's CPU, `,
		r.Facts.Warnings)
	refusing := golden(t, "refusing")
	Conclude(refusing, "")
	assert.NotContains(t, refusing.Facts.Warnings, "refused", "the answer says it")
}

func TestAnAdviceHasAValueForItsSetting(t *testing.T) {
	t.Parallel()
	r := golden(t, "failing")
	busiest(r).CarriedPerS = 0.5 * busiest(r).ScheduledPerS
	half := 0.5 * float64(busiest(r).Requests) / busiest(r).DurationS
	rate := carriedRequests(r)
	assert.LessOrEqual(t, float64(rate), half)
	assert.Greater(t, float64(rate), 0.9*half)
	assert.Regexp(t, `^lower the rate to [\d,]+ requests/s \(RATE=\d+\)$`, advised(r, "lower the rate"))
	assert.Equal(t, "more relays (RELAY_WORKERS=2, it was 1)", advised(r, "more relays (RELAY_WORKERS)"))
	busiest(r).CarriedPerS = busiest(r).ScheduledPerS
	assert.Equal(t, "lower the rate", advised(r, "lower the rate"), "all that was offered was carried")
	r.Resources = nil
	assert.Equal(t, "more relays (RELAY_WORKERS)", advised(r, "more relays (RELAY_WORKERS)"), "nobody knows how many")
}

// Regression: a green run on a saturated host had an advice.
func TestAGreenRunHasNoAdviceEvenIfSomethingGaveWay(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	gauges := resource(t, r, "host").Figures.Gauges
	for i := range gauges["id"] {
		gauges["id"][i] = new(1.0)
	}
	for _, f := range findings(r) {
		assert.Empty(t, f.Next, f.Text)
	}
	require.NotEmpty(t, findings(r))
}

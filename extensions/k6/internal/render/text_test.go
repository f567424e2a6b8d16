package render

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

func balanced() *runfile.Run {
	return &runfile.Run{
		Run: runfile.Identity{Protocol: "HTTP"}, Account: runfile.Account{Balanced: true}, Stages: stages.Default(),
		Latency: runfile.NewLatencies(stages.Default(), ledger.NewTimes(6), false),
		Clock:   runfile.Clock{Reference: "redis TIME", BoundMS: 0.0312}, Health: runfile.Health{Gaps: []runfile.Gap{}, TrendOneIn: 1},
	}
}

func TestTheCanaryIsShownBelowHTTP(t *testing.T) {
	t.Parallel()
	r := balanced()
	r.Canary = &runfile.Canary{Sent: 51, Arrived: 50, IntervalS: 1, Latency: runfile.NewLatency(ramp(50), false)}
	assert.Contains(t, Text(r, "", Screen{}), "from 0 requests\n  canary      50 of 51 · p50 25.0 · max 50.0 ms\n\n")

	r.Canary = &runfile.Canary{Sent: 51, Latency: runfile.NewLatency(ramp(0), false)}
	assert.Contains(t, Text(r, "", Screen{}), "\n  canary      0 of 51\n", "no latency where nothing arrived")

	r.Account.Balanced = false
	assert.NotContains(t, Text(r, "", Screen{}), "canary", "no latency is shown")
}

func TestTheClockLineShowsLimitAndDrift(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit *float64
		drift float64
		line  string
	}{
		{nil, 0, "redis TIME, bound ±0.031 ms"},
		{nil, -0.04, "redis TIME, bound ±0.031 ms"},
		{nil, -49.96, "redis TIME, bound ±0.031 ms, drift −50 ppm"},
		{new(0.5), 0, "redis TIME, bound ±0.031 ms, limit 0.500 ms"},
		{new(2.0), 0.25, "redis TIME, bound ±0.031 ms, limit 2 ms, drift 0.25 ppm"},
	} {
		r := balanced()
		r.Clock.LimitMS, r.Clock.DriftPPM = c.limit, &c.drift
		assert.Contains(t, Text(r, "", Screen{}), "\n  clock       "+c.line+"\n")
	}
}

func TestTheInstrumentLineShowsFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		health  runfile.Health
		retried int
		line    string
	}{
		{runfile.Health{Gaps: []runfile.Gap{{Subscriber: 2, FromS: 3.24, ToS: new(4.61), Reason: "EOF"}}}, 0, "1 gap, 1.4 s"},
		{runfile.Health{Gaps: []runfile.Gap{{Subscriber: 2, FromS: 3, ToS: new(4.5), Reason: "EOF"}, {FromS: 7, Reason: "EOF"}}}, 0,
			"2 gaps, 1.5 s, 1 open"},
		{runfile.Health{Gaps: []runfile.Gap{{FromS: 7, Reason: "EOF"}}}, 0, "1 gap, 1 open"},
		{runfile.Health{SamplesDiscarded: 1}, 0, "1 sample discarded"},
		{runfile.Health{}, 1234, "1,234 requests repeated"},
		{runfile.Health{SamplesDiscarded: 12}, 1, "12 samples discarded · 1 request repeated"},
	} {
		r := balanced()
		r.Health, r.Account.Requests.Retried = c.health, c.retried
		assert.Contains(t, Text(r, "", Screen{}), "\n  instrument  "+c.line+"\n")
	}
}

func TestTheInstrumentsLinesFit100Columns(t *testing.T) {
	t.Parallel()
	r := balanced()
	r.Account.Requests.Retried, r.Health.SamplesDiscarded = 999_999, 9_999_999
	r.Health.Gaps = []runfile.Gap{{ToS: new(3600.0)}, {Subscriber: 1, FromS: 0}}
	r.Clock.LimitMS, r.Clock.DriftPPM = new(1.0), new(-1234.5)
	r.Canary = &runfile.Canary{Sent: 99_999, Arrived: 99_999, Latency: runfile.NewLatency(ramp(100), false)}
	seen := 0
	for line := range strings.Lines(Text(r, "", Screen{})) {
		switch strings.Fields(line + " -")[0] {
		case "canary", "clock", "instrument":
			seen++
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 100, line)
		}
	}
	assert.Equal(t, 3, seen)
}

func TestTextEscapesControlCharacters(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../../../reports/contract/printable.vectors.json")
	require.NoError(t, err)
	var vectors [][2]string
	require.NoError(t, json.Unmarshal(data, &vectors))
	require.NotEmpty(t, vectors)
	for _, v := range vectors {
		assert.Equal(t, v[1], words.Printable(v[0]))
	}
	assert.Equal(t, "not \uFFFD UTF-8", words.Printable("not \x9b UTF-8"))

	// Foreign text: an ingest's answer becomes an error's example, and a profile names its phases.
	hostile := func(of string) string { return of + " \x1b[31m\u009b\r\n  PASS \u202e" }
	r := balanced()
	r.Run.Name, r.Run.Protocol, r.Verdict = hostile("name"), hostile("protocol"),
		runfile.Verdict{Result: runfile.Fail, Doubts: []string{hostile("doubt")}}
	r.Facts.Reasons = []string{hostile("reason")}
	r.Figures = []runfile.Figure{{Name: hostile("figure"), Unit: hostile("unit"), Value: new(1.0)}}
	r.Errors = []runfile.ErrorClass{{Stage: hostile("stage"), Class: hostile("class"), Example: hostile("example"), Count: 1}}
	for range 3 {
		step := runfile.Step{Name: hostile("phase"), Requests: 100, DurationS: 1, VUs: new(1)}
		step.Latency.Arrival = runfile.NewLatency(ramp(100), false)
		r.Steps = append(r.Steps, step)
	}
	text := Text(r, hostile("where"), Screen{})
	assert.NotRegexp(t, `[\p{Cc}\x{202e}]`, strings.ReplaceAll(text, "\n", ""))
	for _, of := range []string{"name", "protocol", "reason", "doubt", "figure", "unit", "stage", "class", "example",
		"where"} {
		assert.Contains(t, text, of+` \u001b[31m\u009b\r\n  PASS \u202e`)
	}
	assert.Contains(t, text, `phase \u001b[31m`, "the rest is cut")
	assert.Regexp(t, `\n  FAIL +name`, text)
	assert.NotRegexp(t, `\n +PASS`, text)
	assert.Contains(t, Text(r, "", Screen{Colour: true}), "\x1b[1;31mFAIL\x1b[0m", "its own colours stay")
}

// Regression: with colours the verdict had no padding.
func TestColoursMoveNothing(t *testing.T) {
	t.Parallel()
	r := balanced()
	r.Run.Name = "soak"
	for _, result := range []string{runfile.Pass, runfile.Fail, runfile.Invalid, runfile.Incomplete} {
		r.Verdict.Result = result
		plain := regexp.MustCompile(`\x1b\[[\d;]*m`).ReplaceAllString(Text(r, "", Screen{Colour: true}), "")
		assert.Equal(t, Text(r, "", Screen{}), plain)
	}
}

func TestRequestsAndMessagesOfTheLoadAreSaidOnce(t *testing.T) {
	t.Parallel()
	r := balanced()
	r.Run.Profile = runfile.Profile{
		Phases: []runfile.Phase{{ArrivalRate: new(100.0), RampTo: new(1500.0)}, {ArrivalRate: new(1500.0)}},
		Flows:  []runfile.Flow{{Weight: 19, Messages: 1}, {Weight: 1, Messages: 19}},
	}
	line := "\n              1,500 requests/s = 2,850 messages/s\n"
	assert.Equal(t, 1, strings.Count(Text(r, "", Screen{}), line), Text(r, "", Screen{}))
	r.Run.Profile.Flows = r.Run.Profile.Flows[:1]
	assert.NotContains(t, Text(r, "", Screen{}), "requests/s =", "a message each")
	r.Run.Profile.Phases = []runfile.Phase{{VUs: new(8)}}
	assert.NotContains(t, Text(r, "", Screen{}), "requests/s =", "the closed model has no rate")
}

func TestTheClosedModelOmitsFromSend(t *testing.T) {
	t.Parallel()
	r := balanced()
	r.Run.Model = runfile.Closed
	assert.NotContains(t, Text(r, "", Screen{}), "from send")
	r.Run.Model = runfile.Open
	assert.Contains(t, Text(r, "", Screen{}), "from send")
}

func TestSampledFiguresAreShownBesideTheFullOnes(t *testing.T) {
	t.Parallel()
	r := balanced()
	assert.NotContains(t, Text(r, "", Screen{}), "sampled")
	r.Latency.Arrival = runfile.NewLatency(ramp(100), false)
	few := runfile.NewSampled(100, 2, ramp(50), [3]int64{50_000, 100_000, 150_000})
	r.Sampled = few.Against(r.Latency.Arrival)
	assert.Contains(t, Text(r, "", Screen{}),
		"\n  sampled     p99 50.0 ms from 50 samples (one message in 100), full 99.0 ms, difference −49.0 ms (−49 %)\n"+
			"              left out, as they are not in both trace lists: 2\n")
	assert.Equal(t, []float64{1, 2, 3}, []float64{*r.Sampled.Parts.Ingest, *r.Sampled.Parts.Relay,
		*r.Sampled.Parts.Arrival})
	for range 2 {
		step := runfile.Step{Name: "1", Requests: 100, DurationS: 1}
		step.Latency.Arrival = r.Latency.Arrival
		step.Sampled = few.Against(r.Latency.Arrival)
		r.Steps = append(r.Steps, step)
	}
	assert.Regexp(t, ` 1       50  .* 50\.0     99\.0 −49\.0 ms \(−49 %\)\n`, Text(r, "", Screen{}))
}

// Regression: the text showed a p99 of 20 samples, which is their maximum. The page left it out.
func TestAP99Needs100Samples(t *testing.T) {
	t.Parallel()
	r := balanced()
	r.Latency.Arrival = runfile.NewLatency(ramp(99), false)
	assert.Contains(t, Text(r, "", Screen{}), "p50 50.0 · p95 95.0 · p99 n/a · max 99.0 ms")
	assert.Contains(t, Markdown(r), "| **arrival** | 50.0 | 50.0 | 95.0 | n/a | 99.0 | 99 |")
	r.Latency.Arrival = runfile.NewLatency(ramp(100), false)
	assert.Contains(t, Text(r, "", Screen{}), "p99 99.0 · max 100 ms")
}

func TestLostMessagesAreListedAndTheSlowestOnDemand(t *testing.T) {
	r := balanced()
	r.Messages = &runfile.Messages{Slowest: []runfile.Slow{
		{ID: "r.1.7", Target: "user/1", Due: "2026-11-23T10:00:00.000001Z", ArrivalMS: 300.5,
			StagesMS: map[string]float64{"queue": 300, "relay": 0.5}},
		{ID: "r.1.8", ArrivalMS: 3},
	}}
	for i, end := range []string{"lost", "dead_lettered", "lost", "lost", "lost"} {
		r.Messages.Named = append(r.Messages.Named, runfile.Named{ID: "r.1." + strconv.Itoa(i), End: end})
	}
	text := Text(r, "", Screen{})
	assert.Regexp(t, `\n +lost: r\.1\.0, r\.1\.2, r\.1\.3, …\n +dead-lettered: r\.1\.1\n`, text)
	assert.NotContains(t, text, "r.1.7")
	t.Setenv("ARRIVAL_SLOWEST", "1")
	text = Text(r, "", Screen{})
	assert.Regexp(t, `slowest +30\d ms +r\.1\.7 .*user/1\n +queue 300 · relay 0\.5`, text)
	assert.NotContains(t, text, "r.1.8")
}

func TestCutOffSaysWhenTheRunEnded(t *testing.T) {
	t.Parallel()
	for want, at := range map[string][2]time.Duration{
		"cut off before it began":                                                     {0, 50 * time.Second},
		"cut off at 0:22 of 0:50":                                                     {22*time.Second + 900*time.Millisecond, 50 * time.Second},
		"cut off at 1:02:03 of 24:00:00":                                              {time.Hour + 2*time.Minute + 3*time.Second, 24 * time.Hour},
		"cut off at 1:07, before every message had an end":                            {67 * time.Second, 0},
		"cut off at 0:52, after its load of 0:50 and before every message had an end": {52 * time.Second, 50 * time.Second},
	} {
		assert.Equal(t, want, CutOff(at[0], at[1]))
	}
}

// Regression: lines of 120 characters were cut anywhere on a terminal of 80.
func TestTheSummaryFitsTheTerminal(t *testing.T) {
	t.Parallel()
	r := balanced()
	r.Run.Name = "soak"
	r.Verdict.Result, r.Facts.Reasons = runfile.Invalid, []string{
		"the generator was late: lateness p99 12.1 ms of arrival p99 124.1 ms; the hypervisor took 2 % of this host's CPU during the run",
	}
	whole := Text(r, "reports/runs/soak/index.html", Screen{})
	require.Regexp(t, `(?m)^.{100,}$`, whole)
	for _, columns := range []int{60, 80, 100} {
		text := Text(r, "reports/runs/soak/index.html", Screen{Columns: columns})
		for line := range strings.Lines(text) {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), columns, line)
		}
		assert.NotRegexp(t, `(?m)(?:p99|[+=]) *$`, text, "a figure stands beside its name")
		assert.ElementsMatch(t, strings.Fields(whole), strings.Fields(text))
	}
}

// Regression: a figure of a script read "-0.028 MB".
func TestAFigureThatFellHasAMinus(t *testing.T) {
	t.Parallel()
	figures := []runfile.Figure{{Name: "memory of ingest-1, change", Value: new(-0.028), Unit: "MB"}}
	assert.Equal(t, [][2]string{{"memory of ingest-1, change", "−0.028 MB"}}, scriptFigures(figures, "n/a"))
}

// ramp returns a series of 1, 2, … n milliseconds.
func ramp(n int) *ledger.Series {
	s := &ledger.NewTimes(6).Arrival
	for i := range n {
		s.Add(int64(i+1) * 1000)
	}
	return s
}

// Regression: the terminal did not show what the page warns of.
func TestWarningsAndTheNextStepAreShown(t *testing.T) {
	t.Parallel()
	r := golden(t, "failing")
	r.Answer.Sentence = "5 of 9 requests got no 2xx (posted to http://ingest)."
	r.Findings = []runfile.Finding{{Text: "The host was saturated.", Next: "lower the rate", Worry: true},
		{Text: "5 of 9 requests got no 2xx.", Worry: true},
		{Text: "The worst second is 0:35."}}
	text := Text(r, "", Screen{})
	assert.Regexp(t, `(?m)^  warning +The host was saturated\.$`, text)
	assert.Regexp(t, `(?m)^  next +lower the rate$`, text)
	assert.NotContains(t, text, "worst second")
	assert.NotRegexp(t, `warning +5 of 9`, text, "the answer says it")
}

func TestARunThatDoesNotPassSaysWhatFailed(t *testing.T) {
	t.Parallel()
	r := golden(t, "failing")
	r.Verdict.Meaning = "arrival p99 4,020 ms, limit < 250 ms"
	assert.Contains(t, Text(r, "", Screen{}), "  arrival p99 4,020 ms, limit < 250 ms\n")
	assert.Contains(t, Markdown(r), "\narrival p99 4,020 ms, limit &lt; 250 ms\n")
}

// A terminal opens the report with a click. Programs that read the output find the path.
func TestThePathOfAReportIsALinkOnATerminal(t *testing.T) {
	t.Parallel()
	const path = "reports/runs/soak 1/index.html"
	assert.Equal(t, path, Screen{}.Link(path))
	link, err := url.Parse(Screen{Terminal: true}.Link(path))
	require.NoError(t, err)
	whole, err := filepath.Abs(path)
	require.NoError(t, err)
	assert.Equal(t, []string{"file", whole}, []string{link.Scheme, link.Path})
	assert.NotContains(t, Screen{Terminal: true}.Link(path), " ")
}

package report

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

// ramp returns a series of 1, 2, … n milliseconds.
func ramp(n int) *ledger.Series {
	s := &ledger.NewTimes(6).Arrival
	for i := range n {
		s.Add(int64(i+1) * 1000)
	}
	return s
}

func TestLatencyIsInMilliseconds(t *testing.T) {
	t.Parallel()
	l := NewLatency(ramp(1000), true)
	assert.Equal(t, int64(1000), l.Count)
	assert.InDelta(t, 1, *l.Min, 0)
	assert.InDelta(t, 500.5, *l.Mean, 1e-9, "the mean is exact, not the histogram's")
	assert.InDelta(t, 500, *l.P50, 0.5, "three significant digits")
	assert.InDelta(t, 990, *l.P99, 1)
	assert.InDelta(t, 1000, *l.Max, 0)
	h, err := hdrhistogram.Decode([]byte(*l.Histogram))
	require.NoError(t, err)
	assert.Equal(t, int64(1000), h.TotalCount())
}

func TestALatencyWithoutSamplesIsNull(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(NewLatency(ramp(0), true))
	require.NoError(t, err)
	assert.JSONEq(t, `{"count":0,"min":null,"mean":null,"p50":null,"p75":null,"p90":null,"p95":null,"p99":null,
		"p999":null,"max":null,"curve":[],"histogram":null}`, string(b))
	assert.Nil(t, NewQuantiles(ramp(0)))
}

func TestListsAreNeverNull(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(Health{Gaps: []Gap{}, TrendOneIn: 1})
	require.NoError(t, err)
	assert.JSONEq(t, `{"lateness":null,"arrival_stamps":{"kernel":0,"read":0},"socket_wait":null,"gaps":[],"samples_discarded":0,"trend_one_in":1}`, string(b))
}

func TestTheCurveStopsWhereSamplesRunOut(t *testing.T) {
	t.Parallel()
	c := NewLatency(ramp(1000), false).Curve
	assert.Equal(t, [2]float64{100, 1000}, c[len(c)-1])
	before := c[len(c)-2][0]
	assert.Greater(t, before, 99.8)
	assert.LessOrEqual(t, before, 99.9, "above it less than one sample is left")
	for i := 1; i < len(c); i++ {
		assert.GreaterOrEqual(t, c[i][1], c[i-1][1])
	}
}

func TestTheCurveNeverExceedsTheMaximum(t *testing.T) {
	t.Parallel()
	s := &ledger.NewTimes(6).Arrival
	s.AddMany(100_001, 100)
	for _, point := range NewLatency(s, false).Curve {
		assert.LessOrEqual(t, point[1], 100.001)
	}
}

// writeSmall writes a run into a minimal page.
func writeSmall(w io.Writer, r *Run) error {
	return writePage(w, "<p>"+opening+"null"+closing+"</p>", r,
		func(w io.Writer) error { return writeJSON(w, r, light) })
}

func TestThePageEscapesTheRun(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 1, strings.Count(template, opening+"null"+closing), "the page has one place for the run")
	r := &Run{Schema: Schema}
	r.Run.Name = "</script><img onerror=x>\u2028"
	var b bytes.Buffer
	require.NoError(t, writeSmall(&b, r))
	page := b.Bytes()
	assert.Equal(t, 1, strings.Count(string(page), "</script>"))
	assert.NotContains(t, string(page), "\u2028")
	back, err := Shown(page)
	require.NoError(t, err)
	assert.Equal(t, r.Run.Name, back.Run.Name)
}

func TestThePageOmitsHistogramsOfStepsAndFlows(t *testing.T) {
	t.Parallel()
	times := ledger.NewTimes(6)
	times.Arrival.Merge(ramp(20))
	latency := NewLatency(ramp(20), true)
	r := balanced()
	r.Latency = NewLatencies(stages.Default(), times, true)
	r.Steps = []Step{{Latency: NewLatencies(stages.Default(), times, true)}}
	r.Flows = []FlowResult{{Arrival: latency}}
	r.Canary, r.Health.SocketWait = &Canary{Latency: latency}, &latency
	text, err := json.MarshalIndent(r, "", "  ")
	require.NoError(t, err)
	for _, write := range []func(io.Writer) error{
		func(w io.Writer) error { return WritePage(w, r) },
		func(w io.Writer) error { return RenderPage(w, text) },
	} {
		var page bytes.Buffer
		require.NoError(t, write(&page))
		shown, err := Shown(page.Bytes())
		require.NoError(t, err)
		assert.Equal(t, r.Latency.Arrival, shown.Latency.Arrival)
		for _, part := range []Latency{
			shown.Steps[0].Latency.Arrival, shown.Steps[0].Latency.Stages["queue"], shown.Flows[0].Arrival,
			shown.Canary.Latency,
			*shown.Health.SocketWait,
		} {
			assert.Nil(t, part.Histogram)
		}
	}
	assert.NotNil(t, r.Steps[0].Latency.Arrival.Histogram, "run.json keeps them")
	assert.NotNil(t, r.Canary.Latency.Histogram)
	assert.NotNil(t, r.Health.SocketWait.Histogram)

	for _, broken := range []string{"", opening + "null" + closing, opening + `"AAAA"` + closing} {
		_, err := Shown([]byte(broken))
		assert.Error(t, err, broken)
	}
}

// countingWriter counts the bytes written and those of the largest write.
type countingWriter struct{ all, most int }

func (w *countingWriter) Write(b []byte) (int, error) {
	w.all, w.most = w.all+len(b), max(w.most, len(b))
	return len(b), nil
}

// Regression: writing a report held the whole timeline in memory twice, 56 MB each for a day.
func TestTheTimelineIsWrittenInPieces(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../reports/testdata/real.json")
	require.NoError(t, err)
	r := &Run{}
	require.NoError(t, json.Unmarshal(text, r))
	second := r.Timeline[1]
	r.Run.Name = `,"timeline":null,"resources":`
	r.Environment["timeline"], r.Environment["resources"] = nil, nil
	for _, timeline := range [][]Interval{nil, {}, r.Timeline} {
		r.Timeline = timeline
		want, err := json.Marshal(r)
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, WriteJSON(&b, r))
		assert.Equal(t, string(want), b.String())
	}
	r = balanced()
	for range 20_000 {
		r.Timeline = append(r.Timeline, second)
	}
	var file, page countingWriter
	require.NoError(t, WriteJSON(&file, r))
	require.NoError(t, writeSmall(&page, r))
	assert.Greater(t, file.all, 5_000_000)
	assert.Less(t, max(file.most, page.most), 100_000)
}

// Regression: the head of the log was cut to whole seconds, so any reader placed all intervals up to a second too early.
func TestTheLogKnowsItsTimesToTheMillisecond(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w := hdrhistogram.NewHistogramLogWriter(&log)
	const start = 1_795_865_454_048
	require.NoError(t, Begin(w, "run", start))
	second := ledger.NewHistogram()
	require.NoError(t, second.RecordValue(5000))
	second.SetStartTimeMs(start + 1000)
	second.SetEndTimeMs(start + 2000)
	require.NoError(t, w.OutputIntervalHistogram(second))

	read, err := hdrhistogram.NewHistogramLogReader(&log).NextIntervalHistogram()
	require.NoError(t, err)
	assert.Equal(t, []int64{start + 1000, start + 2000}, []int64{read.StartTimeMs(), read.EndTimeMs()})
}

func TestBinsHaveAFixedLogarithmicScale(t *testing.T) {
	t.Parallel()
	var s ledger.Series
	assert.Nil(t, NewBins(&s))
	for _, us := range []int64{0, 1, 999, 1000, 1001, 1_000_000} {
		s.Add(us)
	}
	bins := NewBins(&s)
	require.Len(t, bins, 62, "the first bin's number, then bins 0 to 60")
	counts := bins[1:]
	assert.Equal(t, []int64{0, 2, 1, 2, 1}, []int64{bins[0], counts[0], counts[29], counts[30], counts[60]})

	var late ledger.Series
	late.Add(20_000)
	assert.Equal(t, []int64{43, 1}, NewBins(&late), "10^4.3 µs is just below 20 ms")
}

func TestAShortStageIsShownWithTheClockBound(t *testing.T) {
	t.Parallel()
	times := ledger.NewTimes(6)
	for s := 1; s <= 3; s++ {
		times.Stages[s].Add(87)
	}
	times.Stages[5].Add(900)
	r := &Run{Latency: NewLatencies(stages.Default(), times, false), Clock: Clock{BoundMS: 0.0543}}
	shown := map[string]string{}
	for _, stage := range stages.Default() {
		shown[stage.Name] = withinText(r.BoundOf(stage))
	}
	assert.Equal(t, map[string]string{"schedule": "", "request": " ±0.054", "ingest": "", "queue": " ±0.054",
		"relay": "", "delivery": ""}, shown)
	r.Clock.OneHost = true
	assert.Nil(t, r.BoundOf(stages.Default()[3]), "one host has one clock")
}

func TestTheTextSummarizesTheRun(t *testing.T) {
	t.Parallel()
	times := ledger.NewTimes(6)
	times.Arrival.Merge(ramp(2000))
	times.HTTP.Merge(ramp(20))
	times.Stages[0].Add((500 * time.Microsecond).Microseconds())
	r := &Run{
		Verdict: Verdict{Result: Fail},
		Facts:   Facts{Reasons: []string{"lost: 3 of 12345 messages were accepted and never arrived"}},
		Stages:  stages.Default(),
		Latency: NewLatencies(stages.Default(), times, false),
		Account: Account{Scheduled: 12345, Arrived: 12342, Lost: 3, Balanced: true,
			Deliveries: Deliveries{Due: 12345, Arrived: 12342, Missing: 3}},
		Clock:  Clock{Reference: "redis TIME", BoundMS: 0.0312},
		Errors: []ErrorClass{{"request", "timeout", 3, "no answer within 10s"}},
	}
	r.Run.Name = "ramp-single"
	text := Text(r, "reports/runs/x/index.html", Screen{})
	for _, line := range []string{
		"  FAIL        ramp-single\n              lost: 3 of 12345 messages were accepted and never arrived\n",
		"  arrival     p50 1,000 · p95 1,901 · p99 1,980 · max 2,000 ms   from 2,000 deliveries in the measured phases\n",
		"  HTTP        p50 10.0 · p95 19.0 · p99 n/a · max 20.0 ms   from 20 requests\n",
		"    schedule     0.500   0.05 %      n/a      n/a    0.500 ms\n",
		"    queue          n/a\n",
		"  account     12,345 scheduled = 0 dropped + 0 rejected + 0 unknown + 12,342 arrived\n" +
			"              + 0 dead-lettered + 0 queued + 3 lost\n",
		"  clock       redis TIME, bound ±0.031 ms\n",
		"  error       3 × timeout at request: no answer within 10s\n",
		"\n  report      reports/runs/x/index.html\n",
	} {
		assert.Contains(t, text, line)
	}
	assert.NotContains(t, text, "\x1b")
	assert.Contains(t, text, "deliveries in the measured phases\n  from send ")
	other := *r
	other.Run.Protocol = "MQTT"
	assert.Contains(t, Text(&other, "", Screen{}), "  MQTT        p50 10.0 ·")
	assert.Contains(t, Markdown(&other), "| MQTT | ")
	assert.NotContains(t, Text(&other, "", Screen{})+Markdown(&other), "HTTP")
	assert.NotContains(t, text, "canary", "the run has no canary")
	assert.NotContains(t, text, "instrument", "the instrument has no fault")
	assert.Contains(t, Text(r, "", Screen{Colour: true}), "\x1b[1;31mFAIL\x1b[0m")

	r.Account.Balanced = false
	text = Text(r, "", Screen{})
	assert.Contains(t, text, "12,345 scheduled ≠ ")
	assert.NotContains(t, text, "p99", "no percentile without a balanced account")
}

package render

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

// writeSmall writes a run into a minimal page.
func writeSmall(w io.Writer, r *runfile.Run) error {
	return writePage(w, "<p>"+opening+"null"+closing+"</p>", r,
		func(w io.Writer) error { return runfile.WriteChangedJSON(w, r, light) })
}

func TestThePageEscapesTheRun(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 1, strings.Count(template, opening+"null"+closing), "the page has one place for the run")
	r := &runfile.Run{Schema: runfile.Schema}
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

// Regression: at gzip's fastest level a page of 3,000 requests/s had 326 kB, 20 kB more than at its usual one.
func TestTheRunInAPageIsCompressedWell(t *testing.T) {
	t.Parallel()
	run, err := os.ReadFile(reports + "testdata/passing.json")
	require.NoError(t, err)
	var page, fast bytes.Buffer
	require.NoError(t, RenderPage(&page, run))
	data, err := light(run)
	require.NoError(t, err)
	packed, err := gzip.NewWriterLevel(&fast, gzip.BestSpeed)
	require.NoError(t, err)
	_, err = packed.Write(data)
	require.NoError(t, err)
	require.NoError(t, packed.Close())
	_, rest, _ := strings.Cut(page.String(), opening)
	text, _, _ := strings.Cut(rest, closing)
	assert.Less(t, len(text), base64.StdEncoding.EncodedLen(fast.Len())*95/100)
}

func TestThePageOmitsHistogramsOfStepsAndFlows(t *testing.T) {
	t.Parallel()
	times := ledger.NewTimes(6)
	times.Arrival.Merge(ramp(20))
	latency := runfile.NewLatency(ramp(20), true)
	r := balanced()
	r.Latency = runfile.NewLatencies(stages.Default(), times, true)
	r.Steps = []runfile.Step{{Latency: runfile.NewLatencies(stages.Default(), times, true)}}
	r.Flows = []runfile.FlowResult{{Arrival: latency}}
	r.Canary, r.Health.SocketWait = &runfile.Canary{Latency: latency}, &latency
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
		for _, part := range []runfile.Latency{
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

func TestAShortStageIsShownWithTheClockBound(t *testing.T) {
	t.Parallel()
	times := ledger.NewTimes(6)
	for s := 1; s <= 3; s++ {
		times.Stages[s].Add(87)
	}
	times.Stages[5].Add(900)
	r := &runfile.Run{Latency: runfile.NewLatencies(stages.Default(), times, false), Clock: runfile.Clock{BoundMS: 0.0543}}
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
	r := &runfile.Run{
		Run:     runfile.Identity{Protocol: "HTTP"},
		Verdict: runfile.Verdict{Result: runfile.Fail},
		Facts:   runfile.Facts{Reasons: []string{"lost: 3 of 12345 messages were accepted and never arrived"}},
		Stages:  stages.Default(),
		Latency: runfile.NewLatencies(stages.Default(), times, false),
		Account: runfile.Account{Scheduled: 12345, Arrived: 12342, Lost: 3, Balanced: true,
			Deliveries: runfile.Deliveries{Due: 12345, Arrived: 12342, Missing: 3}},
		Clock:  runfile.Clock{Reference: "redis TIME", BoundMS: 0.0312},
		Errors: []runfile.ErrorClass{{Stage: "request", Class: "timeout", Count: 3, Example: "no answer within 10s"}},
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

// Regression: writing a report held the whole timeline in memory twice, 56 MB each for a day.
func TestTheTimelineIsWrittenInPieces(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../reports/testdata/real.json")
	require.NoError(t, err)
	r := &runfile.Run{}
	require.NoError(t, json.Unmarshal(text, r))
	second := r.Timeline[1]
	r.Run.Name = `,"timeline":null,"resources":`
	r.Environment["timeline"], r.Environment["resources"] = nil, nil
	for _, timeline := range [][]runfile.Interval{nil, {}, r.Timeline} {
		r.Timeline = timeline
		want, err := json.Marshal(r)
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, runfile.WriteJSON(&b, r))
		assert.Equal(t, string(want), b.String())
	}
	r = balanced()
	for range 20_000 {
		r.Timeline = append(r.Timeline, second)
	}
	var file, page countingWriter
	require.NoError(t, runfile.WriteJSON(&file, r))
	require.NoError(t, writeSmall(&page, r))
	assert.Greater(t, file.all, 5_000_000)
	assert.Less(t, max(file.most, page.most), 100_000)
}

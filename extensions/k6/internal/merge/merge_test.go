package merge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
	"github.com/arrival-bench/arrival/extensions/k6/internal/render"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// part reads one of the three instances of testdata/whole and applies change.
func part(t *testing.T, number int, change func(r *runfile.Run)) Instance {
	t.Helper()
	p, err := read(filepath.Join("testdata/whole", fmt.Sprintf("generator-%d", number)))
	require.NoError(t, err)
	if change != nil {
		change(p.Run)
	}
	return p
}

func three(t *testing.T, changes ...func(r *runfile.Run)) []Instance {
	t.Helper()
	changes = append(changes, nil, nil, nil)
	return []Instance{part(t, 3, changes[2]), part(t, 1, changes[0]), part(t, 2, changes[1])}
}

// merged merges parts and checks that the result is a valid run.
func merged(t *testing.T, parts []Instance) *runfile.Run {
	t.Helper()
	r, err := Runs(parts, "whole", io.Discard)
	require.NoError(t, err)
	data, err := json.Marshal(r)
	require.NoError(t, err)
	require.NoError(t, runfile.Validate(data))
	return r
}

func series(values ...int64) *ledger.Series {
	var s ledger.Series
	for _, v := range values {
		s.Add(v)
	}
	return &s
}

func TestHistogramsAreSummed(t *testing.T) {
	t.Parallel()
	few := []int64{1000, 2000, 2000, 70_000, 2 * ledger.Highest} // the last one exceeds the histogram's range
	var many []int64
	for i := range int64(500) {
		many = append(many, 100+13*i)
	}
	a, b, none := runfile.NewLatency(series(few...), true), runfile.NewLatency(series(many...), true),
		runfile.NewLatency(series(), true)
	assert.Equal(t, runfile.NewLatency(series(append(few, many...)...), true),
		*latency([]*runfile.Latency{&a, &b, &none}))
	assert.Nil(t, latency([]*runfile.Latency{nil}))

	a.Histogram = nil
	assert.EqualError(t, must.Try(func() { latency([]*runfile.Latency{&a, &b}) }),
		"a latency has no histogram, so it cannot be added to others")
}

// logOf returns a histogram log with one second and half a line, as a killed run leaves it.
func logOf(t *testing.T, s *ledger.Series) *runfile.Log {
	t.Helper()
	encoded, err := s.Histogram.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	require.NoError(t, err)
	dir := t.TempDir()
	text := fmt.Sprintf("#[BaseTime: 100.000 (seconds since epoch)]\nTag=arrival,1.000,1.000,1.000,%s\nTag=arrival,2.0",
		encoded)
	require.NoError(t, os.WriteFile(filepath.Join(dir, runfile.LogName), []byte(text), 0o644))
	log, err := runfile.OpenLog(dir)
	require.NoError(t, err)
	return log
}

func TestTheTimelineMergesHistogramsNotPercentiles(t *testing.T) {
	t.Parallel()
	fast, slow := series(), series(90_000)
	fast.AddMany(1000, 99)
	parts := three(t)
	for i, s := range []*ledger.Series{nil, fast, slow} {
		for j := range parts[i].Run.Timeline {
			row := &parts[i].Run.Timeline[j]
			row.Arrival, row.FromSend = nil, nil
			if s != nil && row.T == 1 {
				row.Arrival = runfile.NewQuantiles(s)
				row.FromSend = row.Arrival
			}
		}
		if s != nil {
			parts[i].Log = logOf(t, s)
		}
	}
	parts[0].Log = &runfile.Log{}
	var log bytes.Buffer
	r, err := Runs(parts, "whole", &log)
	require.NoError(t, err)
	want := &runfile.Quantiles{Count: 100, Mean: 1.89, P50: new(1.0), P95: new(1.0), P99: new(1.0), Max: 90}
	assert.Equal(t, want, r.Timeline[1].Arrival)
	want = &runfile.Quantiles{Count: 100, Mean: 1.89, Max: 90}
	assert.Equal(t, want, r.Timeline[1].FromSend, "no percentile without histograms")
}

func TestBinsWithDifferentStartsAreAdded(t *testing.T) {
	t.Parallel()
	assert.Nil(t, addBins(nil))
	assert.Equal(t, []int64{3, 7, 0, 0, 1, 3, 3}, addBins([][]int64{{6, 1, 2}, {3, 7}, {7, 1, 3}}))
}

func TestMergeIgnoresTheOrderOfTheParts(t *testing.T) {
	t.Parallel()
	one := part(t, 1, nil).Run
	r := merged(t, three(t))
	assert.Equal(t, runfile.Pass, r.Verdict.Result, r.Verdict.Reasons)
	assert.Nil(t, r.Run.Generator)
	assert.Equal(t, 3*one.Account.Scheduled, r.Account.Scheduled)
	assert.Len(t, r.Generators, 3)
	text := render.Text(r, "", render.Screen{})
	assert.Contains(t, text,
		"\n  generator 2 1/3:2/3 · pass · 190 scheduled · 190 arrived · lateness p99 0.348 ms · CPU max 5 %\n")
	assert.Contains(t, text, " scheduled = 0 dropped")
}

func TestTheMergedRunHasTheOriginOfItsFirstPart(t *testing.T) {
	t.Parallel()
	from := func(commit, job string) func(r *runfile.Run) {
		return func(r *runfile.Run) {
			r.Environment["git"] = map[string]any{"commit": commit, "branch": nil, "dirty": false}
			r.Environment["ci"] = map[string]any{"name": "GitLab CI", "job": job, "url": nil}
		}
	}
	r := merged(t, three(t, from("a", "1"), from("a", "2"), from("b", "3")))
	assert.Equal(t, map[string]any{"commit": "a", "branch": nil, "dirty": false}, r.Environment["git"])
	assert.Equal(t, map[string]any{"name": "GitLab CI", "job": "1", "url": nil}, r.Environment["ci"])
}

func TestTheSlowestMessagesOfAllPartsAreKept(t *testing.T) {
	t.Parallel()
	slow := func(id string, ms ...float64) func(r *runfile.Run) {
		return func(r *runfile.Run) {
			r.Messages = &runfile.Messages{Slowest: []runfile.Slow{}, Named: []runfile.Named{{ID: id, End: "lost"}}}
			for _, one := range ms {
				r.Messages.Slowest = append(r.Messages.Slowest, runfile.Slow{
					ID: id, Subscriber: 1, Due: "2026-11-23T10:00:00.000001Z", ArrivalMS: one,
					StagesMS: map[string]float64{"relay": one},
				})
			}
			r.Tail = &runfile.Tail{Count: int64(len(ms)), Of: 100, MeanMS: ms[0],
				StagesMS: map[string]float64{"relay": ms[0]}}
		}
	}
	r := merged(t, three(t, slow("a", 5, 4), slow("b", 9), slow("c", 1)))
	ids := make([]string, 0, len(r.Messages.Slowest))
	for _, s := range r.Messages.Slowest {
		ids = append(ids, s.ID)
	}
	assert.Equal(t, []string{"b", "a", "a", "c"}, ids)
	assert.Len(t, r.Messages.Named, 3)
	assert.Equal(t, &runfile.Tail{Count: 4, Of: 300, MeanMS: 5, StagesMS: map[string]float64{"relay": 5}}, r.Tail)
	assert.Nil(t, merged(t, three(t, slow("a", 1))).Messages, "two parts have no messages")
}

func TestFiguresHaveOneValuePerGenerator(t *testing.T) {
	t.Parallel()
	says := func(held, p99 *float64) func(r *runfile.Run) {
		return func(r *runfile.Run) {
			r.Figures = []runfile.Figure{{Name: "connections held", Value: held},
				{Name: "canary p99", Value: p99, Unit: "ms"}}
		}
	}
	r := merged(t, three(t, says(new(14_001.0), new(1.5)), says(new(14_002.0), nil), says(new(14_003.0), new(3.5))))
	text := render.Text(r, "", render.Screen{})
	assert.Contains(t, text, "\n  figure      connections held: 14,001 · 14,002 · 14,003\n")
	assert.Contains(t, text, "\n  figure      canary p99: 1.50 · n/a · 3.50 ms\n")
	assert.Contains(t, render.Markdown(r), "\n- canary p99: 1.50 · not available · 3.50 ms\n")
}

func TestTheMergedClockHasTheWidestBound(t *testing.T) {
	t.Parallel()
	clock := func(bound, own float64, oneHost bool, processes int) func(r *runfile.Run) {
		return func(r *runfile.Run) {
			r.Clock = runfile.Clock{
				Reference: "redis TIME", OffsetMS: &own, BoundMS: bound, GeneratorBoundMS: own, OneHost: oneHost,
				DriftPPM: &own, Probes: 10,
				Processes: make([]runfile.ProcessClock, processes),
			}
		}
	}
	r := merged(t, three(t, clock(0.5, 0.25, true, 1), clock(0.75, 0.5, false, 3), clock(0.25, 0.75, true, 2)))
	assert.Equal(t, runfile.Clock{
		Reference: "redis TIME", BoundMS: 0.75, GeneratorBoundMS: 0.75, Probes: 30,
		Processes: make([]runfile.ProcessClock, 3),
	}, r.Clock)
	for i, own := range []float64{0.25, 0.5, 0.75} {
		assert.Equal(t, []float64{own, own}, []float64{*r.Generators[i].ClockOffsetMS, *r.Generators[i].ClockBoundMS})
	}
	assert.NotContains(t, render.Text(r, "", render.Screen{}), "drift")
}

func TestPartsOfDifferentRunsAreRefused(t *testing.T) {
	t.Parallel()
	for message, change := range map[string]func(r *runfile.Run){
		"generator 2 has another run than generator 1 (other, not xssm4yqm)":                           func(r *runfile.Run) { r.Run.ID = "other" },
		"generator 2 has another profile than generator 1":                                             func(r *runfile.Run) { r.Run.Profile.Name = "other" },
		"generator 2 has another method than generator 1 (ramp, not smoke)":                            func(r *runfile.Run) { r.Run.Method = "ramp" },
		"generator 2 has another version of k6 than generator 1 (1.0.0, not 2.2.0)":                    func(r *runfile.Run) { r.Run.Tool.Version = "1.0.0" },
		"generator 2 has another start than generator 1 (1795317507755881, not 1795428596485845)":      func(r *runfile.Run) { r.Run.Generator.StartUS = 1_795_317_507_755_881 },
		"generator 2 has another sequence of segments than generator 1 (0,1/2,2/3,1, not 0,1/3,2/3,1)": func(r *runfile.Run) { r.Run.Generator.Sequence = "0,1/2,2/3,1" },
		"generator 1 is given twice": func(r *runfile.Run) { r.Run.Generator.Number = 1 },
	} {
		_, err := Runs(three(t, nil, change), "whole", io.Discard)
		assert.EqualError(t, err, message)
	}
	_, err := Runs(nil, "whole", io.Discard)
	assert.EqualError(t, err, "there is nothing to merge")
}

// write saves a run in a new directory and returns its path.
func write(t *testing.T, r *runfile.Run) string {
	t.Helper()
	dir := t.TempDir()
	data, err := json.Marshal(r)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, runfile.FileName), data, 0o644))
	return dir
}

func TestOnlyPartsCanBeMerged(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(r *runfile.Run){
		"is a run of one instance; merge takes what each instance of a run by segments has left": func(r *runfile.Run) { r.Run.Generator = nil },
		"has been merged already; merge takes what each instance of a run by segments has left": func(r *runfile.Run) {
			r.Run.Generator, r.Generators = nil, []runfile.Instance{}
			r.Generators = append(r.Generators,
				runfile.Instance{Number: 1, Segment: "0:1", Result: runfile.Pass, Reasons: []string{}})
		},
		"is of generator 4 of 3": func(r *runfile.Run) { r.Run.Generator.Number = 4 },
	} {
		dir := write(t, part(t, 1, change).Run)
		_, _, err := Directories([]string{dir}, t.TempDir())
		assert.EqualError(t, err, dir+" "+what)
	}
	_, _, err := Directories([]string{"testdata/whole/generator-1", "testdata/odd/generator-3"}, "")
	assert.EqualError(t, err, "the parts do not lie in one directory of their run: --out says where the whole goes")
	_, _, err = Directories([]string{write(t, part(t, 1, nil).Run)}, "")
	assert.EqualError(t, err, "the parts do not lie in one directory of their run: --out says where the whole goes")
	// Regression: an empty directory was told to say --out.
	empty := t.TempDir()
	_, _, err = Directories([]string{empty}, "")
	assert.EqualError(t, err, empty+" holds neither a run nor its instances, generator-1 and so on")

	// Regression: --out replaced the part in that directory, which nothing can bring back.
	one := write(t, part(t, 1, nil).Run)
	before := readFile(t, filepath.Join(one, runfile.FileName))
	_, _, err = Directories([]string{one, "testdata/whole/generator-2", "testdata/whole/generator-3"}, one+"/.")
	assert.EqualError(t, err, "--out is "+one+", which holds a part; allowed: another directory")
	assert.Equal(t, before, readFile(t, filepath.Join(one, runfile.FileName)))
}

// Regression: a hostile number of instances, or second, was a panic, as it took all memory.
func TestAPartThatNoRunWritesIsRefused(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(r *runfile.Run){
		"one of 9007199254740991 instances": func(r *runfile.Run) { r.Run.Generator.Of = 1<<53 - 1 },
		"a second 9007199254740991":         func(r *runfile.Run) { r.Timeline[0].T = 1<<53 - 1 },
	} {
		dir := t.TempDir()
		r, err := runfile.Read(filepath.Join("testdata", "whole", "generator-1"))
		require.NoError(t, err)
		change(r)
		require.NoError(t, render.Save(dir, r))
		_, err = read(dir)
		assert.ErrorContains(t, err, want)
	}
}

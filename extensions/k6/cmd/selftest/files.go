package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// merged compares the histogram of a merged run with that of all samples of its instances, by bucket.
func merged(o *outcome) []row {
	sum, all := histogram(o.whole.run.Latency.Arrival), empty()
	for _, g := range o.generators {
		g.eachPoint("arrival_latency", func(ms float64) {
			must.Do(all.RecordValue(min(max(int64(math.Round(ms*1000)), 0), ledger.Highest)))
		})
	}
	expected, measured, differ := buckets(all), buckets(sum), 0
	either := maps.Clone(expected)
	maps.Copy(either, measured)
	for value := range either {
		if expected[value] != measured[value] {
			differ++
		}
	}
	return []row{
		{
			"merged histogram, buckets", count(len(expected)) + " of all samples",
			fmt.Sprintf("%s, %d differ", count(len(measured)), differ), exact, differ == 0,
		},
		counted("merged histogram, samples", o.measured*len(o.generators), int(sum.TotalCount())),
	}
}

// mergedQuartiles compares the merged quartiles: p25 lies in the middle of the faster generator's latencies, p75
// in the middle of the slower one's.
func mergedQuartiles(o *outcome) (rows []row) {
	sum := histogram(o.whole.run.Latency.Arrival)
	for i, p := range []float64{25, 75} {
		expected := millisOf(o.generators[i].fake.Delay)
		rows = append(rows, between(fmt.Sprintf("merged arrival, p%g", p), millis(expected),
			float64(sum.ValueAtPercentile(p))/1000,
			expected, 0, o.form.slack(expected)))
	}
	return rows
}

// mergedEnds requires that the fastest and the slowest of a merged run come from all its instances. The parts are
// unlike: arrivals are slowest in one, answers in the other.
func mergedEnds(o *outcome) (rows []row) {
	for _, one := range []struct {
		what string
		of   func(r *runfile.Run) runfile.Latency
	}{
		{"arrival", func(r *runfile.Run) runfile.Latency { return r.Latency.Arrival }},
		{"from send", func(r *runfile.Run) runfile.Latency { return r.Latency.FromSend }},
		{"http", func(r *runfile.Run) runfile.Latency { return r.Latency.HTTP }},
		{"lateness", func(r *runfile.Run) runfile.Latency { return *r.Health.Lateness }},
		{"flow", func(r *runfile.Run) runfile.Latency { return r.Flows[0].Arrival }},
	} {
		least, most := math.Inf(1), math.Inf(-1)
		for _, g := range o.generators {
			part := one.of(g.run)
			least, most = min(least, *part.Min), max(most, *part.Max)
		}
		whole := one.of(o.whole.run)
		rows = append(rows, row{"merged " + one.what + ", min and max", millis(least) + ", " + millis(most),
			millis(*whole.Min) + ", " + millis(*whole.Max), exact, *whole.Min == least && *whole.Max == most})
	}
	slowest := 0.0
	for _, second := range o.whole.run.Timeline {
		if second.Arrival != nil {
			slowest = max(slowest, second.Arrival.Max)
		}
	}
	most := *o.whole.run.Latency.Arrival.Max
	return append(rows, row{"merged seconds, slowest", millis(most), millis(slowest), exact, slowest == most})
}

// mergedCounts requires that a merged run has the messages of all instances, in its account and in its seconds.
func mergedCounts(o *outcome) []row {
	n, seconds := o.messages*len(o.generators), 0
	for _, second := range o.whole.run.Timeline {
		seconds += int(second.Arrived)
	}
	a := o.whole.run.Account
	return []row{
		{"merged account", count(n) + " balanced", count(a.Scheduled) + " " + balanceText(a.Balanced), exact,
			a.Scheduled == n && a.Arrived == n && a.Balanced},
		counted("merged seconds, arrivals", n, seconds),
		counted("exit of k6 x arrival merge", o.generators[0].exit, o.whole.exit),
	}
}

// empty is a histogram like the ledger's.
func empty() *hdrhistogram.Histogram { return hdrhistogram.New(1, ledger.Highest, 3) }

func buckets(h *hdrhistogram.Histogram) map[int64]int64 {
	all := map[int64]int64{}
	for _, bar := range h.Distribution() {
		if bar.Count > 0 {
			all[bar.From] = bar.Count
		}
	}
	return all
}

// eachPoint calls add with each value of a metric that k6 wrote with --out json.
func (g *generated) eachPoint(metric string, add func(value float64)) {
	file := must.Get(os.Open(g.points()))
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var point struct {
			Type, Metric string
			Data         struct{ Value float64 }
		}
		must.Do(json.Unmarshal(lines.Bytes(), &point))
		if point.Type == "Point" && point.Metric == metric {
			add(point.Data.Value)
		}
	}
	must.Do(lines.Err())
}

//go:embed elsewhere.js
var otherReader string

// elsewhere has the values that HdrHistogram for JavaScript reads in the files of a run.
type elsewhere struct {
	Log []struct {
		Tag      string
		From, To float64 // ms since 1970
		Count    int
		Max      float64 // µs
	}
	Count       int       // how many arrivals run.json has
	Percentiles []float64 // their known percentiles, µs
}

// readWithNode needs the npm packages of the directory that the self-test runs in.
func readWithNode(dir string) (read elsewhere) {
	out, err := exec.Command("node", "--input-type=module", "-e", otherReader, dir).Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		must.Fail("HdrHistogram for JavaScript can't read it: %s", strings.Join(strings.Fields(string(failed.Stderr)), " "))
	}
	must.Do(err)
	must.Do(json.Unmarshal(out, &read))
	return read
}

func readElsewhere(o *outcome) []row { return o.generators[0].elsewhere(o.generators[0].log) }

func mergedElsewhere(o *outcome) []row {
	return o.whole.elsewhere(o.generators[0].log, o.generators[1].log)
}

// elsewhere compares what another implementation reads in the files of a run with the pipelines' logs and with the
// report.
func (g *generated) elsewhere(logs ...[]fake.Delivery) []row {
	return g.compared(readWithNode(g.dir), logs...)
}

func (g *generated) compared(read elsewhere, logs ...[]fake.Delivery) []row {
	const second, rounding = 1000, 0.5 // ms
	l, began := g.run.Latency.Arrival, float64(g.began().UnixMilli())
	counts, off, slowest := make([]int, len(g.run.Timeline)), 0, 0.0
	for _, interval := range read.Log {
		t := (interval.From - began) / second
		whole := math.Round(t)
		fits := math.Abs(t-whole)*second < rounding && math.Abs(interval.To-interval.From-second) < rounding
		if !fits || whole < 0 || int(whole) >= len(counts) {
			off++
			continue
		}
		if interval.Tag == "arrival" {
			counts[int(whole)] += interval.Count
			slowest = max(slowest, interval.Max/1000)
		}
	}
	const bucket = 0.001 // three digits
	same := func(a, b float64) bool { return math.Abs(a-b) <= bucket*b }
	expected, measured := []string{}, []string{}
	ok := len(read.Percentiles) == len(known) && read.Count == int(l.Count)
	for i, us := range read.Percentiles {
		want := reported(l, known[i])
		ok = ok && same(min(us/1000, *l.Max), want)
		if slices.Contains([]float64{50, 99}, known[i]) {
			expected, measured = append(expected, trim(want)), append(measured, trim(us/1000))
		}
	}
	return []row{
		counted("log elsewhere, odd intervals", 0, off),
		bySecond("log elsewhere, by second", g.began(), counts, logs...),
		{"log elsewhere, slowest", millis(*l.Max), millis(slowest), "±0.1 %", same(slowest, *l.Max)},
		{"histogram elsewhere, p50 and p99", strings.Join(expected, ", ") + " ms", strings.Join(measured, ", ") + " ms",
			exact, ok},
		counted("histogram elsewhere, samples", int(l.Count), read.Count),
	}
}

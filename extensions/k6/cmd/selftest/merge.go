package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
)

// merged compares, bucket by bucket, the merged histograms of all generators with the one of all their samples.
func merged(o *outcome) []row {
	sum, all := o.sum(), empty()
	for _, g := range o.gens {
		g.eachPoint("arrival_latency", func(ms float64) {
			must.Do(all.RecordValue(min(max(int64(math.Round(ms*1000)), 0), ledger.Highest)))
		})
	}
	expected, measured, differ := buckets(all), buckets(sum), 0
	for value, n := range expected {
		if measured[value] != n {
			differ++
		}
	}
	for value := range measured {
		if _, ok := expected[value]; !ok {
			differ++
		}
	}
	samples := counted("merged histogram, samples", o.measured*len(o.gens), int(sum.TotalCount()))
	samples.ok = samples.ok && sum.TotalCount() == all.TotalCount()
	return []row{
		{"merged histogram, buckets", count(len(expected)) + " of all samples", fmt.Sprintf("%s, %d differ", count(len(measured)), differ), exact, differ == 0},
		samples,
	}
}

// mergedQuartiles compares the merged quartiles: a quarter of all is in the middle of the faster generator's, and so on.
func mergedQuartiles(o *outcome) (rows []row) {
	sum := o.sum()
	for i, p := range []float64{25, 75} {
		expected := millisOf(o.gens[i].fake.Delay)
		rows = append(rows, between(fmt.Sprintf("merged arrival, p%g", p), millis(expected), float64(sum.ValueAtPercentile(p))/1000,
			expected, 0, o.form.slack(expected)))
	}
	return rows
}

// sum adds the arrival latencies of all generators.
func (o *outcome) sum() *hdrhistogram.Histogram {
	sum := empty()
	for _, g := range o.gens {
		if dropped := sum.Merge(histogram(g.run.Latency.Arrival)); dropped > 0 {
			must.Fail("%d samples did not fit", dropped)
		}
	}
	return sum
}

// empty is a histogram like those of the ledger.
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

// eachPoint hands over the values of a metric that k6 wrote with --out json.
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

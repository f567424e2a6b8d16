package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
)

// merged compares, bucket by bucket, the merged histograms of all generators with the one of all their samples.
func merged(o *outcome) []row {
	const what = "merged histogram, buckets"
	sum, all := empty(), empty()
	for _, g := range o.gens {
		h, err := histogram(g.run.Latency.Arrival)
		if err != nil {
			return failed(what, err)
		}
		if dropped := sum.Merge(h); dropped > 0 {
			return failed(what, fmt.Errorf("%d samples did not fit", dropped))
		}
		if err := g.eachPoint("arrival_latency", func(ms float64) error {
			return all.RecordValue(min(max(int64(math.Round(ms*1000)), 0), ledger.Highest))
		}); err != nil {
			return failed(what, err)
		}
	}
	told, differ := buckets(all), 0
	measured := buckets(sum)
	for value, n := range told {
		if measured[value] != n {
			differ++
		}
	}
	for value := range measured {
		if _, ok := told[value]; !ok {
			differ++
		}
	}
	return []row{
		{what, count(len(told)) + " of all samples", fmt.Sprintf("%s, %d differ", count(len(measured)), differ), exact, differ == 0},
		{"merged histogram, samples", count(o.measured * len(o.gens)), count(int(sum.TotalCount())), exact,
			sum.TotalCount() == all.TotalCount() && int(sum.TotalCount()) == o.measured*len(o.gens)},
	}
}

// mergedQuartiles compares the merged quartiles: a quarter of all is in the middle of the faster generator's, and so on.
func mergedQuartiles(o *outcome) (rows []row) {
	sum := empty()
	for _, g := range o.gens {
		h, err := histogram(g.run.Latency.Arrival)
		if err != nil {
			return failed("merged quartiles", err)
		}
		sum.Merge(h)
	}
	for i, p := range []float64{25, 75} {
		told := millisOf(o.gens[i].fake.Delay)
		rows = append(rows, between(fmt.Sprintf("merged arrival, p%g", p), millis(told), float64(sum.ValueAtPercentile(p))/1000,
			told, 0, o.form.slack(told)))
	}
	return rows
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
func (g *generated) eachPoint(metric string, add func(value float64) error) error {
	file, err := os.Open(g.points())
	if err != nil {
		return fmt.Errorf("k6 wrote no samples: %w", err)
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var point struct {
			Type   string `json:"type"`
			Metric string `json:"metric"`
			Data   struct {
				Value float64 `json:"value"`
			} `json:"data"`
		}
		if err := json.Unmarshal(lines.Bytes(), &point); err != nil {
			return fmt.Errorf("a sample of k6 can't be read: %w", err)
		}
		if point.Type == "Point" && point.Metric == metric {
			if err := add(point.Data.Value); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

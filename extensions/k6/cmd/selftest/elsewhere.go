package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"math"
	"os/exec"
	"slices"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
)

//go:embed elsewhere.js
var otherReader string

// elsewhere is what HdrHistogram for JavaScript reads in the files of a run.
type elsewhere struct {
	Log []struct {
		Tag      string
		From, To float64 // ms since 1970
		Count    int
		Max      float64 // µs
	}
	Count       int       // of the arrivals in run.json
	Percentiles []float64 // of the same, µs: those that are known
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

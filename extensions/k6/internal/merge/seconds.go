package merge

import (
	"cmp"
	"io"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/arrival-bench/arrival/extensions/k6/internal/facts"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// tags name the histograms of a second, in the order of the log.
var tags = [...]string{"arrival", "from_send", "http"}

// seconds merges the timelines and writes the histogram log. All parts count from the same time on the clock of Redis,
// so second t is the same in each. It decodes one second of each log at a time.
func seconds(parts []Instance, id string, startMS int64, w io.Writer, quarters *facts.Quarters) []runfile.Interval {
	log := hdrhistogram.NewHistogramLogWriter(w)
	must.Do(runfile.Begin(log, id, startMS))
	length := 0
	rows := make([]map[int]*runfile.Interval, len(parts))
	for i, p := range parts {
		rows[i] = map[int]*runfile.Interval{}
		for j := range p.Run.Timeline {
			row := &p.Run.Timeline[j]
			rows[i][row.T] = row
			length = max(length, row.T+1)
		}
	}
	timeline := make([]runfile.Interval, 0, length)
	for t := range length {
		var present []*runfile.Interval
		histograms := map[string]*hdrhistogram.Histogram{}
		for i, p := range parts {
			found := must.Get(p.Log.At(t))
			row, ok := rows[i][t]
			if !ok { // the log of a part that was cut off may be longer than the timeline of its report, which counts
				continue
			}
			present = append(present, row)
			for tag, h := range found {
				if histograms[tag] == nil {
					histograms[tag] = ledger.NewHistogram()
				}
				add(histograms[tag], h)
			}
		}
		for _, tag := range tags {
			if h := histograms[tag]; h != nil {
				h.SetTag(tag)
				h.SetStartTimeMs(startMS + int64(t)*1000)
				h.SetEndTimeMs(startMS + int64(t+1)*1000)
				must.Do(log.OutputIntervalHistogram(h))
			}
		}
		quarters.Add(t, histograms[tags[0]])
		timeline = append(timeline, second(t, present, histograms))
	}
	return timeline
}

func second(t int, rows []*runfile.Interval, histograms map[string]*hdrhistogram.Histogram) runfile.Interval {
	all := cmp.Or(combined(rows), &runfile.Interval{}) // CPU is the busiest generator's
	all.T = t
	for i, of := range []func(r *runfile.Interval) **runfile.Quantiles{
		func(r *runfile.Interval) **runfile.Quantiles { return &r.Arrival },
		func(r *runfile.Interval) **runfile.Quantiles { return &r.FromSend },
		func(r *runfile.Interval) **runfile.Quantiles { return &r.HTTP },
	} {
		parts := each(rows, func(r *runfile.Interval) *runfile.Quantiles { return *of(r) })
		*of(all) = ofSecond(quantiles(parts), histograms[tags[i]])
	}
	unknown := func(r *runfile.Interval) bool { return r != nil && r.Requests > 0 && r.LateMaxMS == nil }
	if slices.ContainsFunc(rows, unknown) {
		all.LateMaxMS = nil
	}
	all.Bins = addBins(each(rows, func(r *runfile.Interval) []int64 { return r.Bins }))
	all.Stages = addStages(each(rows, func(r *runfile.Interval) stageMeans {
		return stageMeans{r.Stamped, r.Stages}
	}))
	all.DueBins = addBins(each(rows, func(r *runfile.Interval) []int64 { return r.DueBins }))
	return *all
}

// ofSecond adds percentiles, unless the histogram of a part is missing.
func ofSecond(all *runfile.Quantiles, h *hdrhistogram.Histogram) *runfile.Quantiles {
	if all == nil || h == nil || h.TotalCount() != all.Count {
		return all
	}
	own := runfile.NewQuantiles(&ledger.Series{Histogram: h, Count: all.Count, Max: micros(all.Max)})
	own.Mean = all.Mean
	return own
}

// addBins sums counts by bin (see runfile.NewBins).
func addBins(all [][]int64) []int64 {
	var sum []int64
	for _, bins := range all {
		if bins == nil {
			continue
		}
		if sum == nil {
			sum = []int64{bins[0]}
		}
		if before := sum[0] - bins[0]; before > 0 {
			sum = append(append([]int64{bins[0]}, make([]int64, before)...), sum[1:]...)
		}
		for i, n := range bins[1:] {
			at := int(bins[0]-sum[0]) + i + 1
			for len(sum) <= at {
				sum = append(sum, 0)
			}
			sum[at] += n
		}
	}
	return sum
}

// stageMeans are the means of stages over so many deliveries.
type stageMeans struct {
	deliveries int64
	ms         map[string]float64
}

// addStages averages means, weighted by the deliveries with stamps: other deliveries have no stages.
func addStages(all []stageMeans) map[string]float64 {
	var sums map[string]float64
	deliveries := int64(0)
	for _, one := range all {
		if one.ms == nil || one.deliveries == 0 {
			continue
		}
		if sums == nil {
			sums = map[string]float64{}
		}
		deliveries += one.deliveries
		for stage, mean := range one.ms {
			sums[stage] += mean * float64(one.deliveries)
		}
	}
	for stage := range sums {
		sums[stage] /= float64(deliveries)
	}
	return sums
}

package facts

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// percentilesTitle is about the curve of percentiles, up to the last one with enough samples.
func percentilesTitle(arrival runfile.Latency) string {
	const slack = 1e-6
	var last [2]float64
	for _, p := range arrival.Curve {
		if p[0] >= 50 && p[0] < 100 && float64(arrival.Count)*(100-p[0]) >= 100-slack {
			last = p
		}
	}
	if last[0] == 0 {
		return "Too few deliveries for a curve of their arrival"
	}
	percentile := strconv.FormatFloat(math.Floor(last[0]*1000+slack)/1000, 'f', -1, 64) // 99.9997 is never 100
	return fmt.Sprintf("Half of the deliveries arrived within %s ms, %s %% within %s ms", words.MS(arrival.P50),
		percentile, words.MS(&last[1]))
}

// distributionTitle names the bin with most deliveries.
func distributionTitle(bins []int64) string {
	if len(bins) < 2 {
		return ""
	}
	most, all := 1, int64(0)
	for i, n := range bins[1:] {
		all += n
		if n > bins[most] {
			most = i + 1
		}
	}
	bin := bins[0] + int64(most) - 1
	from, to := ledger.BinEnd(bin-1)/1000, ledger.BinEnd(bin)/1000
	return fmt.Sprintf("%s of the deliveries took %s to %s ms", words.Percent(float64(bins[most])/float64(max(1, all))),
		words.MS(&from), words.MS(&to))
}

// rampLeast is the highest load beside the lowest from which on latency is shown by load.
const rampLeast = 1.5

// byLoad are the measured seconds of an open load by their load; nil: the load stayed as it was.
func byLoad(r *runfile.Run) []runfile.LoadPoint {
	if r.Run.Model == runfile.Closed {
		return nil
	}
	slowest := 0.0 // a bin may end above the slowest delivery in it
	for i := range r.Timeline {
		if a := r.Timeline[i].Arrival; a != nil {
			slowest = max(slowest, a.Max)
		}
	}
	var points []runfile.LoadPoint
	for _, s := range measuredSeconds(r) {
		if s.Scheduled > 0 && len(s.DueBins) > 0 {
			points = append(points, runfile.LoadPoint{PerS: s.Scheduled, P50MS: binQuantile(s.DueBins, 0.5, slowest),
				P99MS: binQuantile(s.DueBins, 0.99, slowest)})
		}
	}
	slices.SortStableFunc(points, func(a, b runfile.LoadPoint) int { return a.PerS - b.PerS })
	if len(points) == 0 || float64(points[len(points)-1].PerS) < rampLeast*float64(points[0].PerS) {
		return nil
	}
	return points
}

// binQuantile is a quantile of what lies in bins, ms, no more than most: as far through its bin, logarithmically, as
// its rank; nil: too few.
func binQuantile(bins []int64, share, most float64) *float64 {
	all := int64(0)
	for _, n := range bins[1:] {
		all += n
	}
	if float64(all)*(1-share) < 1-1e-9 {
		return nil
	}
	below, rank := 0.0, share*float64(all)
	for i, n := range bins[1:] {
		if n > 0 && below+float64(n) >= rank {
			bin := bins[0] + int64(i)
			from, to := ledger.BinEnd(bin-1), ledger.BinEnd(bin)
			value := from * math.Pow(to/from, (rank-below)/float64(n)) / 1000
			if most > 0 {
				value = min(value, most)
			}
			return new(math.Round(value*1e6) / 1e6)
		}
		below += float64(n)
	}
	return nil
}

func byLoadTitle(points []runfile.LoadPoint) string {
	if len(points) == 0 {
		return ""
	}
	var worst *runfile.LoadPoint
	for i := range points {
		if p := &points[i]; p.P99MS != nil && (worst == nil || *p.P99MS > *worst.P99MS) {
			worst = p
		}
	}
	if worst == nil {
		return fmt.Sprintf("Up to %s messages/s; too few deliveries a second for a p99",
			words.Count(points[len(points)-1].PerS))
	}
	return fmt.Sprintf("In the slowest second, at %s messages/s, p99 was about %s ms", words.Count(worst.PerS),
		words.MS(worst.P99MS))
}

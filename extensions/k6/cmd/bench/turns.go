package main

import (
	"math"
	"slices"
)

// turns measures both sides of a comparison so many times, in turn. The one goes first, then the other: a drift of the machine
// would favour the same one in each round. What disturbs a machine lasts for seconds, so ratios are of the same round.
func (b *bench) turns(rounds int, what string, baseline, ours func() use) pairs {
	all := make(pairs, rounds)
	for round := range all {
		pair := &all[round]
		for i := range pair {
			i = (i + round) % 2
			pair[i] = [...]func() use{baseline, ours}[i]()
		}
		b.say("round %d of %d: %.2f and %.2f µs CPU a %s, at %.0f and %.0f/s, load average %s",
			round+1, rounds, pair[0].each(), pair[1].each(), what, pair[0].rate(), pair[1].rate(), loadAverage())
	}
	return all
}

// pairs are what was measured of the baseline and of ours, round by round.
type pairs [][2]use

// median is that of a figure of one side: 0 is the baseline, 1 is ours.
func (p pairs) median(which int, of func(use) float64) float64 {
	return p.ratio(func(baseline, ours use) float64 { return of([...]use{baseline, ours}[which]) })
}

func (p pairs) ratio(of func(baseline, ours use) float64) float64 {
	values := make([]float64, len(p))
	for i, pair := range p {
		values[i] = of(pair[0], pair[1])
	}
	return median(values)
}

// estimate is the Hodges-Lehmann estimate of the ratio and where it lies, between low and high, and how sure that is in percent: 95 or
// more, where there are rounds enough. It takes as given that a round's ratio is as likely to be too large by a factor as too small, which
// taking turns sees to, and nothing else of how they are distributed (Wilcoxon's signed ranks).
func (p pairs) estimate(of func(baseline, ours use) float64) (ratio, low, high, sure float64) {
	logs := make([]float64, len(p))
	for i, pair := range p {
		logs[i] = math.Log(of(pair[0], pair[1]))
	}
	var means []float64 // of each two, and of each with itself
	for i, a := range logs {
		for _, b := range logs[i:] {
			means = append(means, (a+b)/2)
		}
	}
	slices.Sort(means)
	chances := signedRanks(len(p))
	cut, outside := 0, 2*chances[0]
	for cut+1 < len(means)/2 && outside+2*chances[cut+1] <= 0.05 {
		cut++
		outside += 2 * chances[cut]
	}
	return math.Exp(median(means)), math.Exp(means[cut]), math.Exp(means[len(means)-1-cut]), 100 * (1 - outside)
}

// signedRanks is how likely each sum of the ranks 1 to n is where each rank counts with probability 1/2.
func signedRanks(n int) []float64 {
	likely := []float64{1}
	for rank := 1; rank <= n; rank++ {
		next := make([]float64, len(likely)+rank)
		for sum, chance := range likely {
			next[sum] += chance / 2
			next[sum+rank] += chance / 2
		}
		likely = next
	}
	return likely
}

func cost(baseline, ours use) float64 { return ours.each() / baseline.each() }

// costs compares the CPU of one of what was counted.
func (p pairs) costs(limit float64, baseline, ours string) figure {
	return figure{
		limit: limit, ratio: p.ratio(cost),
		baseline: side{baseline, p.median(0, use.each), "µs"}, ours: side{ours, p.median(1, use.each), "µs"},
	}
}

package main

import (
	"math"
	"slices"
)

// turns measures both sides of a comparison so many times, in turn. The one goes first, then the other: a drift of the machine
// would favour the same one in each round. What disturbs a machine lasts for seconds, so ratios are of the same round.
func (b *bench) turns(rounds int, what string, baseline, ours func() (use, error)) (pairs, error) {
	var all pairs
	for round := range rounds {
		var pair [2]use
		for i := range pair {
			i = (i + round) % 2
			measure := [...]func() (use, error){baseline, ours}[i]
			var err error
			if pair[i], err = measure(); err != nil {
				return nil, err
			}
		}
		all = append(all, pair)
		b.say("round %d of %d: %.2f and %.2f µs CPU a %s, at %.0f and %.0f/s, load average %s",
			round+1, rounds, pair[0].each(), pair[1].each(), what, pair[0].rate(), pair[1].rate(), loadAverage())
	}
	return all, nil
}

// pairs are what was measured of the baseline and of ours, round by round.
type pairs [][2]use

// median is that of a figure of one side: 0 is the baseline, 1 is ours.
func (p pairs) median(which int, of func(use) float64) float64 {
	return p.ratio(func(baseline, ours use) float64 { return of([...]use{baseline, ours}[which]) })
}

// ratio is the median of the rounds' ratios.
func (p pairs) ratio(of func(baseline, ours use) float64) float64 {
	values := make([]float64, len(p))
	for i, pair := range p {
		values[i] = of(pair[0], pair[1])
	}
	return median(values)
}

// interval is where the median of the rounds' ratios lies, between two of them, and how sure that is in percent: 95 or more, where there
// are rounds enough. It wants nothing of how they are distributed (the number of rounds below the median is binomial).
func (p pairs) interval(of func(baseline, ours use) float64) (low, high, sure float64) {
	values := make([]float64, len(p))
	for i, pair := range p {
		values[i] = of(pair[0], pair[1])
	}
	slices.Sort(values)
	n, cut := len(values), 0
	outside := math.Pow(0.5, float64(n-1)) // that all are on one side of it
	for term := outside; cut+1 < n/2; cut++ {
		term *= float64(n-cut) / float64(cut+1)
		if outside+term > 0.05 {
			break
		}
		outside += term
	}
	return values[cut], values[n-1-cut], 100 * (1 - outside)
}

// cost is the ratio of CPU.
func cost(baseline, ours use) float64 { return ours.each() / baseline.each() }

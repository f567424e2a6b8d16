package main

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

// cost is the ratio of CPU.
func cost(baseline, ours use) float64 { return ours.each() / baseline.each() }

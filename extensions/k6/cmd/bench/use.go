package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/shirou/gopsutil/v4/load"

	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
)

// use is the CPU that processes used while something was counted.
type use struct {
	cpu     map[string]time.Duration
	count   int64
	seconds float64
}

// perItem is the CPU of one counted item, in µs.
func (u use) perItem() float64 {
	sum := time.Duration(0)
	for _, cpu := range u.cpu {
		sum += cpu
	}
	return micros(sum) / float64(u.count)
}

// of is one process's part of perItem.
func (u use) of(name string) float64 { return micros(u.cpu[name]) / float64(u.count) }

func part(name string) func(use) float64 { return func(u use) float64 { return u.of(name) } }

// without subtracts the CPU per item that the same processes use for other work.
func (u use) without(rest use) use {
	left := use{cpu: map[string]time.Duration{}, count: u.count, seconds: u.seconds}
	for name, cpu := range u.cpu {
		left.cpu[name] = cpu - time.Duration(rest.of(name)*float64(u.count)*1000)
	}
	return left
}

// parts lists the processes with a text for each.
func parts(pids map[string]int, of func(name string) string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(pids)) {
		all = append(all, name+" "+of(name))
	}
	return strings.Join(all, ", ")
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

func (u use) rate() float64 { return float64(u.count) / u.seconds }

// counter returns the number of counted items so far.
type counter func() (int64, error)

func counting(n *atomic.Int64) counter { return func() (int64, error) { return n.Load(), nil } }

// observe waits until count moves, lets the load warm up, and measures.
func (b *bench) observe(pids map[string]int, count counter, watched ...*process) use {
	first := int64(-1)
	b.waitUntil("the load", time.Minute, func() bool {
		n, err := count()
		if err == nil && first < 0 {
			first = n
		}
		return err == nil && n > first
	}, watched...)
	b.sleep(b.warmup, watched...)
	for _, p := range watched {
		if p.pprof != "" {
			go b.profile(p)
		}
	}
	u := use{cpu: map[string]time.Duration{}}
	take := func(sign int64) {
		for name, pid := range pids {
			u.cpu[name] += time.Duration(sign) * must.Get(cpuOf(pid))
		}
		u.count += sign * must.Get(count())
	}
	began := time.Now()
	take(-1)
	b.sleep(b.duration, watched...)
	u.seconds = time.Since(began).Seconds()
	take(1)
	if u.count <= 0 {
		must.Fail("nothing was counted while it was measured")
	}
	return u
}

// loadAverage is the machine's of the last minute: ratios from a busy machine are doubtful.
func loadAverage() string {
	average, err := load.Avg()
	if err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%.2f", average.Load1)
}

// alternate measures both sides of a comparison in each round, and swaps the order each time: a machine that drifts
// would favour the side that always goes first. Disturbances last for seconds, so ratios compare the same round.
func (b *bench) alternate(rounds int, what string, baseline, ours func() use) pairs {
	all := make(pairs, rounds)
	for round := range all {
		pair := &all[round]
		for i := range pair {
			i = (i + round) % 2
			pair[i] = [...]func() use{baseline, ours}[i]()
		}
		b.say("round %d of %d: %.2f and %.2f µs CPU a %s, at %.0f and %.0f/s, load average %s",
			round+1, rounds, pair[0].perItem(), pair[1].perItem(), what, pair[0].rate(), pair[1].rate(), loadAverage())
	}
	return all
}

// pairs holds the use of the baseline and of ours for each round.
type pairs [][2]use

// median is the median of a figure of one side: 0 is the baseline, 1 is ours.
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

// estimate returns the Hodges-Lehmann estimate of the ratio, its interval, and the interval's confidence in percent:
// at least 95 with enough rounds. It assumes that a round's ratio is as likely too large by a factor as too small by
// it, which swapping the order ensures, and nothing else about the distribution (Wilcoxon's signed ranks).
func (p pairs) estimate(of func(baseline, ours use) float64) (ratio, low, high, sure float64) {
	logs := make([]float64, len(p))
	for i, pair := range p {
		logs[i] = math.Log(of(pair[0], pair[1]))
	}
	var means []float64 // of each pair of rounds, and of each round with itself
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

// signedRanks returns the probability of each sum of the ranks 1 to n if each rank counts with probability 1/2.
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

func cost(baseline, ours use) float64 { return ours.perItem() / baseline.perItem() }

// costs is the figure that compares the CPU per item.
func (p pairs) costs(limit float64, baseline, ours string) figure {
	return figure{
		limit: limit, ratio: p.ratio(cost),
		baseline: side{baseline, p.median(0, use.perItem), "µs"}, ours: side{ours, p.median(1, use.perItem), "µs"},
	}
}

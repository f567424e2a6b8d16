package spans

import (
	"math"
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// slow is a delivery that a report may list.
type slow struct {
	m     *message
	at    ledger.Kept
	parts []int64 // its stages and their sum, µs; without stages the sum alone
}

// stages describes the stages of the messages that have all marks.
func (k *Keeper) stages(d *runfile.Spans, f *sorted, clocks []clock, h *hosts, s Sampling) {
	names := []string{"due", "sent"}
	for _, row := range f.used {
		names = append(names, f.table[row].Name)
	}
	names = append(names, "arrived")
	parts := make([]part, len(names)) // the stages, then their sum
	var all []slow
	for _, m := range f.whole {
		for _, one := range m.deliveries {
			due := on(clocks, moment{m.host, one.Due})
			last, us := due, []int64{}
			ends := f.between(m)
			ends[len(ends)-1].us = one.Arrived
			for _, end := range ends {
				at := on(clocks, end)
				us = append(us, at-last)
				last = at
			}
			us = append(us, one.Arrived-one.Due)
			for i := range parts {
				parts[i].add(us[i])
			}
			all = append(all, slow{m, one, us})
		}
		for i := range parts {
			parts[i].next()
		}
	}
	d.Count = parts[0].times.Count
	left := 1 - float64(d.Count)/float64(max(s.All, d.Count, 1)) // the sample of all deliveries has no error
	describe := func(i int, from, to string) runfile.SpansStage {
		stage := runfile.NewSpansStage(from, to, &parts[i].times)
		if e, ok := parts[i].error(); ok {
			stage.Error = new(e * math.Sqrt(left) / 1000)
		}
		return stage
	}
	d.Arrival = describe(len(parts)-1, "due", "arrived")
	if d.Count == 0 { // the spans show what could be marks
		for _, m := range f.traced {
			for _, one := range m.deliveries {
				all = append(all, slow{m, one, []int64{one.Arrived - one.Due}})
			}
		}
	}
	k.slowest(d, all, clocks, s)
	if len(f.used) == 0 {
		return
	}
	for i := range parts[1:] {
		stage := describe(i, names[i], names[i+1])
		for _, m := range f.whole {
			ends := slices.Concat([]moment{{m.host, 0}}, f.between(m))
			stage.Bound = max(stage.Bound, float64(h.apart(clocks, ends[i].host, ends[i+1].host))/1000)
		}
		d.Stages = append(d.Stages, stage)
	}
}

// part are the times of a stage, and what its error needs. Deliveries of one message are not independent, so the error
// is that of messages.
type part struct {
	times    ledger.Series
	messages []struct{ sum, n float64 }
	sum, n   float64 // sums of the current message
}

func (p *part) add(us int64) {
	p.times.Add(us)
	p.sum += float64(us)
	p.n++
}

func (p *part) next() {
	p.messages = append(p.messages, struct{ sum, n float64 }{p.sum, p.n})
	p.sum, p.n = 0, 0
}

// z is how many standard errors a 95 % interval has on each side.
const z = 1.96

// error is half of the 95 % interval of the mean, µs; ok is false for fewer than two messages.
func (p *part) error() (us float64, ok bool) {
	m, n := float64(len(p.messages)), float64(p.times.Count)
	if m < 2 {
		return 0, false
	}
	mean, squares := float64(p.times.Sum)/n, 0.0
	for _, one := range p.messages {
		squares += (one.sum - one.n*mean) * (one.sum - one.n*mean)
	}
	return z * math.Sqrt(squares*m/(m-1)) / n, true
}

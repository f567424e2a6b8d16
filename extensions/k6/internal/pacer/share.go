package pacer

import "sort"

// share selects one generator's requests of a schedule that several generators send. Its requests and messages
// are numbered without gaps, so that a ledger has no entries for others' messages. Due times, flows, targets
// and ids stay those of the whole schedule.
type share struct {
	whole  *Pacer
	period int   // requests of the whole after which both its flows and the share repeat
	own    []int // numbers of the share's requests within a period, ascending
}

// MaxPeriod is the longest period of a share, in requests.
const MaxPeriod = 2_000_000

// Period is the number of requests after which the shares of all flows repeat: by then each flow has had a
// multiple of `every` requests.
func (p *Pacer) Period(every int) int {
	common := every
	for _, turns := range p.turns {
		common = gcd(common, len(turns))
	}
	return len(p.cycle) * (every / common)
}

// Share is the schedule of one of several generators. It has those of every `every` requests of each flow whose
// numbers (0 <= n < every, ascending) are in own. Dealing out each flow by itself gives every generator its part
// of each: the flows repeat, and a rare one would always fall to the same generators if all requests were dealt
// out together. Flow f begins f generators later, so that the first generator does not have the first of each.
// Period(every) is at most MaxPeriod. The closed model has no schedule to share.
func (p *Pacer) Share(own []int, every int) *Pacer {
	of := &share{whole: p, period: p.Period(every)}
	s := &Pacer{phases: p.phases, flows: p.flows, share: of}
	mine := make([]bool, every)
	for _, n := range own {
		mine[n] = true
	}
	next := make([]int, len(p.flows)) // the place of each flow's next request among `every`
	for f := range next {
		next[f] = f % every
	}
	for n := range of.period {
		flow := p.FlowOf(n)
		if mine[next[flow]] {
			of.own = append(of.own, n)
			s.cycle = append(s.cycle, flow)
		}
		next[flow] = (next[flow] + 1) % every
	}
	s.layOut()
	s.requests = s.before(p.requests)
	return s
}

// before counts the share's requests among the first n of the whole.
func (p *Pacer) before(n int) int {
	if p.share == nil {
		return n
	}
	return n/p.share.period*len(p.share.own) + sort.SearchInts(p.share.own, n%p.share.period)
}

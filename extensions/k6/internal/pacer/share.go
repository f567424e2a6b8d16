package pacer

import "sort"

// share says which requests of a schedule are one generator's, where several send it together. Requests and messages of the share have
// numbers of their own, without gaps, so that a ledger holds no place for what others send; when each is due, its flow, its targets
// and its id are those that it has in the whole.
type share struct {
	whole  *Pacer
	period int   // requests of the whole after which both its flows and the share begin anew
	own    []int // numbers of the share's requests within a period, ascending
}

// MaxPeriod is the longest period of a share, in requests.
const MaxPeriod = 2_000_000

// Period is the number of requests after which the flows and a share that repeats after every requests begin anew together.
func (p *Pacer) Period(every int) int {
	return len(p.cycle) / gcd(len(p.cycle), every) * every
}

// Share is the schedule of one of several generators: of each every requests it has those whose numbers (0 <= n < every, ascending) are in
// own. Period(every) is at most MaxPeriod. Of the closed model, where requests have no schedule, there is none.
func (p *Pacer) Share(own []int, every int) *Pacer {
	of := &share{whole: p, period: p.Period(every)}
	s := &Pacer{phases: p.phases, flows: p.flows, share: of}
	for from := 0; from < of.period; from += every {
		for _, n := range own {
			of.own = append(of.own, from+n)
			s.cycle = append(s.cycle, p.FlowOf(from+n))
		}
	}
	s.layOut()
	s.requests = s.before(p.requests)
	return s
}

// number is what request n of the share is called in the whole.
func (p *Pacer) number(n int) int {
	if p.share == nil {
		return n
	}
	own := p.share.own
	return n/len(own)*p.share.period + own[n%len(own)]
}

// before counts the share's requests among the first n of the whole.
func (p *Pacer) before(n int) int {
	if p.share == nil {
		return n
	}
	return n/p.share.period*len(p.share.own) + sort.SearchInts(p.share.own, n%p.share.period)
}

// SeqOf returns the number that message id has in the share; false where another generator sends it.
func (p *Pacer) SeqOf(id int) (seq int, ok bool) {
	if p.share == nil {
		return id, true
	}
	whole := p.share.whole
	of := whole.RequestOf(id)
	n := p.before(of)
	if p.number(n) != of {
		return 0, false
	}
	return p.Messages(n) + id - whole.Messages(of), true
}

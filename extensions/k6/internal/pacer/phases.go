package pacer

import (
	"math"
	"sort"
	"time"
)

// ratePhase is a phase of the schedule. before is the number of requests in the phases before it and area the number in
// it, with fractions: both are integrals of the rate.
type ratePhase struct {
	start, length float64 // seconds
	from, to      float64 // requests per second
	before, area  float64
}

// slack is the rounding error of an integral x that is meant to be whole. It is far below a request.
func slack(x float64) float64 { return math.Min(1e-9*math.Max(1, x), 1e-3) }

// Due returns how many requests are due before t; 0 where they are not known beforehand.
func (p *Pacer) Due(t time.Duration) int {
	if p.share != nil {
		return p.before(p.share.whole.Due(t))
	}
	if p.told != nil {
		return 0
	}
	s := t.Seconds()
	i := sort.Search(len(p.phases), func(i int) bool { return p.phases[i].start+p.phases[i].length > s })
	if i == len(p.phases) {
		return p.requests
	}
	ph := p.phases[i]
	into := s - ph.start
	sum := ph.before + ph.from*into + (ph.to-ph.from)*into*into/(2*ph.length)
	return min(p.requests, int(math.Ceil(sum-slack(sum))))
}

// PhaseRequests returns the numbers [from, to) of the requests of phase i; none where they are not known beforehand.
func (p *Pacer) PhaseRequests(i int) (from, to int) {
	if !p.Planned() {
		return 0, 0
	}
	if p.share != nil {
		from, to = p.share.whole.PhaseRequests(i)
		return p.before(from), p.before(to)
	}
	whole := func(x float64) int { return min(p.requests, int(math.Ceil(x-slack(x)))) }
	return whole(p.phases[i].before), whole(p.phases[i].before + p.phases[i].area)
}

func (p *Pacer) phaseOf(x float64) int {
	early := slack(x)
	return sort.Search(len(p.phases)-1, func(i int) bool { return x < p.phases[i].before+p.phases[i].area-early })
}

// due solves before + from·t + (to−from)·t²/2d = x for t, in the form that stays exact where the rate is constant.
func (s ratePhase) due(x float64) time.Duration {
	left := math.Max(0, x-s.before)
	t := 0.0
	if left > 0 {
		root := math.Sqrt(math.Max(0, s.from*s.from+2*(s.to-s.from)*left/s.length))
		t = 2 * left / (s.from + root)
	}
	return time.Duration(math.Round((s.start + t) * 1e9))
}

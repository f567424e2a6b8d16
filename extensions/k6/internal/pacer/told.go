package pacer

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

// told is a schedule that nobody knows beforehand: the caller tells each request when it sends it. A request has
// one message of the same number. Numbers may be left out.
type told struct {
	mu      sync.RWMutex
	pages   []*[toldPage]toldRequest // by number
	seconds []int                    // requests by the second in which they are due
	last    time.Duration            // when the last request is due
}

// toldPage is how many requests a page has.
const toldPage = 4096

// toldMost is the largest number of a request, from the most that a profile may hold.
const toldMost = 1e9

// toldRequest takes 16 bytes.
type toldRequest struct {
	due         time.Duration
	phase, flow uint16
	target      uint32 // of its flow, from 2: where it came; 1: it has not come; 0: the request was not told
}

// NewTold makes a schedule that is told. The profile has the phases' lengths, but no rates, and the flows: one message
// a request, and as many deliveries in each.
func NewTold(p *profile.Profile) (*Pacer, error) {
	if p.Closed() {
		return nil, errors.New("the phases have vus, and whoever sends tells when requests are due; " +
			"allowed: phases of the open model")
	}
	for _, f := range p.Flows {
		if f.Messages != 1 || f.Deliveries != p.Flows[0].Deliveries {
			return nil, fmt.Errorf("flow %q has %d messages a request and %d deliveries; where requests are told, "+
				"allowed: 1 message, and the same number of deliveries in all flows", f.Name, f.Messages, f.Deliveries)
		}
	}
	pc := &Pacer{flows: p.Flows, cycle: weigh(p.Flows), told: &told{}}
	pc.layOut()
	var start float64
	for _, ph := range p.Phases {
		pc.phases = append(pc.phases, ratePhase{start: start, length: ph.Duration.Seconds()})
		start += ph.Duration.Seconds()
	}
	return pc, nil
}

// Tell adds request n, and returns it. Its phase is that in which it is due, and the last one for what is due after it.
func (p *Pacer) Tell(n int, due time.Duration, flow int) (Slot, error) {
	t := p.told
	if n < 0 || n > toldMost {
		return Slot{}, fmt.Errorf("request %d; allowed: 0 to %d", n, int(toldMost))
	}
	phase := 0
	for phase < len(p.phases)-1 && due.Seconds() >= p.phases[phase].start+p.phases[phase].length {
		phase++
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.pages) <= n/toldPage {
		t.pages = append(t.pages, nil)
	}
	page := &t.pages[n/toldPage]
	if *page == nil {
		*page = &[toldPage]toldRequest{}
	}
	r := &(*page)[n%toldPage]
	if r.target > 0 {
		return Slot{}, fmt.Errorf("request %d was told already", n)
	}
	*r = toldRequest{due, uint16(phase), uint16(flow), 1}
	second := int(max(0, due) / time.Second)
	for len(t.seconds) <= second {
		t.seconds = append(t.seconds, 0)
	}
	t.seconds[second]++
	t.last = max(t.last, due)
	return r.slot(n), nil
}

func (r toldRequest) slot(n int) Slot {
	return Slot{
		N: n, Due: r.due, Phase: int(r.phase), Flow: int(r.flow), OfFlow: int(max(2, r.target) - 2), FirstSeq: n,
		FirstID: n, Messages: 1,
	}
}

// Came notes at which target of its flow, from 0, the message of a told request came: only its arrival says so.
func (p *Pacer) Came(n, target int) {
	t := p.told
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pages[n/toldPage][n%toldPage].target = uint32(target) + 2
}

// TargetKnown reports whether it is known for which target of its flow a request is.
func (p *Pacer) TargetKnown(n int) bool {
	if !p.Told() {
		return true
	}
	r := p.told.at(n)
	return p.flows[r.flow].Targets == 1 || r.target > 1
}

// slot is request n; of one that was not told, only the numbers mean something.
func (t *told) slot(n int) Slot { return t.at(n).slot(n) }

func (t *told) at(n int) toldRequest {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if n < 0 || n/toldPage >= len(t.pages) || t.pages[n/toldPage] == nil {
		return toldRequest{}
	}
	return t.pages[n/toldPage][n%toldPage]
}

// ToldIn is how many of the requests told so far are due in a second of the run.
func (p *Pacer) ToldIn(second int) int {
	p.told.mu.RLock()
	defer p.told.mu.RUnlock()
	if second >= len(p.told.seconds) {
		return 0
	}
	return p.told.seconds[second]
}

// LastTold is when the last of the requests told so far is due.
func (p *Pacer) LastTold() time.Duration {
	p.told.mu.RLock()
	defer p.told.mu.RUnlock()
	return p.told.last
}

package ledger

import "github.com/arrival-bench/arrival/extensions/k6/internal/pacer"

// almost is when nearly all of what was due in a phase had arrived.
type almost struct {
	deliveries int64 // 99 % of those due; 0: not known beforehand
	at         int64 // µs since the run's start; 0: not yet
}

func newAlmost(p *pacer.Pacer, phase int) almost {
	if p.Closed() {
		return almost{}
	}
	from, to := p.PhaseRequests(phase)
	due := p.Deliveries(p.Messages(to)) - p.Deliveries(p.Messages(from))
	return almost{deliveries: int64(due*99+99) / 100}
}

// AlmostAll is when 99 % of the deliveries due in a phase of the open model had arrived, in µs since the run's start; ok is false when they have not.
func (l *Ledger) AlmostAll(phase int) (at int64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.almost[phase].at, l.almost[phase].at != 0
}

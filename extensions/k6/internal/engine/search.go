package engine

import (
	"context"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
)

// search looks for the messages that have not arrived. The subscribers still read: messages that leave the queue now
// may still arrive.
func (e *Engine) search(ctx context.Context, p *prepared) {
	if e.Ledger.Open() == 0 {
		return
	}
	p.receiver.Check()
	if p.store != nil && e.Ledger.Open() > 0 {
		e.parts.Find(ctx, p.store)
		clock.SleepUntil(ctx, nil, time.Now().Add(linger))
	}
}

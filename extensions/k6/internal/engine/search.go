package engine

import (
	"context"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/missing"
)

// search looks for the messages that have not arrived. The subscribers still read: messages that leave the queue now may
// still arrive.
func (e *Engine) search(ctx context.Context, p *prepared) {
	if e.Ledger.Open() == 0 {
		return
	}
	p.receiver.Check()
	if p.store != nil && e.Ledger.Open() > 0 {
		missing.Find(ctx, p.store, &e.parts)
		clock.SleepUntil(ctx, nil, time.Now().Add(linger))
	}
}

package arrival

import (
	"context"
	"sync"

	"go.k6.io/k6/v2/lib"

	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/send"
)

// publishWriters is the number of publishing goroutines: several, so that a connection that the broker does not
// read blocks only one.
const publishWriters = 16

func (e *engine) publish(ctx context.Context, state *lib.State) {
	select {
	case <-e.Started:
	case <-ctx.Done():
		return
	}
	o := e.options.Publishers
	numbers := make([]int, e.segment.Scale(o.Connections))
	for n := range numbers {
		numbers[n] = e.segment.Unscale(n+1) - 1
	}
	p := send.Publish(ctx, &e.Parts, send.Publishing{
		PublisherOptions: o, Prefix: e.options.MQTT.Prefix, Network: e.trust.Of(state), Timeout: e.options.Timeout.duration(),
		Numbers: numbers, Stamped: e.options.Redis.URL != "", Figure: e.figure,
	})
	var writers sync.WaitGroup
	for range publishWriters {
		writers.Go(func() {
			w := schedule.NewWaiter()
			for slot, ok := e.take(ctx, w); ok; slot, ok = e.take(ctx, w) {
				p.Send(ctx, slot)
			}
		})
	}
	writers.Wait()
	p.Close(ctx)
}

package arrival

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/js/modulestest"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
)

// What another run left goes too, and is foreign; what is read is gone.
func TestQueueIsReadAndEmptied(t *testing.T) {
	t.Parallel()
	address := startRedis(t)
	o, err := redis.ParseURL(address)
	require.NoError(t, err)
	own := redis.NewClient(o)
	t.Cleanup(func() { _ = own.Close() })
	for _, kind := range []string{streamQueue, listQueue} {
		s := newScript(t, &fake.Pipeline{}, twenty, fmt.Sprintf("queue: { url: '%s', kind: '%s' }", address, kind))
		e := s.module.root.engine
		put := func(frame string) {
			if kind == listQueue {
				require.NoError(t, own.LPush(t.Context(), messageList, frame).Err())
				return
			}
			require.NoError(t, own.XAdd(t.Context(), &redis.XAddArgs{Stream: messageStream, Values: []string{"frame", frame}}).Err())
		}
		put("user/1\n\nnot ours")
		put("user/1\n\n" + string(e.bodies.append(nil, e.Pacer.Slot(0))))
		e.Ledger.Start(0)
		e.Ledger.Sent(e.Pacer.Slot(0), 1)
		ctx, cancel := context.WithCancel(t.Context())
		subs, err := e.subscribe(ctx, s.state, s.module.metrics.latency)
		require.NoError(t, err)
		require.Eventually(t, func() bool { return e.Ledger.Deliveries() == 1 }, time.Minute, time.Millisecond)
		subs.close()
		cancel()
		assert.Equal(t, 1, e.Ledger.Final().Foreign, kind)
		left, err := own.Exists(t.Context(), messageList).Result()
		require.NoError(t, err)
		assert.Zero(t, left)
		left, err = own.XLen(t.Context(), messageStream).Result()
		require.NoError(t, err)
		assert.Zero(t, left)
		assert.Zero(t, e.Ledger.Times(0).Stages[ledger.Delivery].Count)
	}
}

func TestQueueThatMakesNoSense(t *testing.T) {
	t.Parallel()
	rt := modulestest.NewRuntime(t)
	require.NoError(t, rt.VU.Runtime().Set("Run", New().NewModuleInstance(rt.VU).Exports().Named["Run"]))
	const one, five = "phases: [{duration: 1, arrivalRate: 1}]\nflows: [{name: a}]",
		"phases: [{duration: 1, arrivalRate: 1}]\nflows: [{name: a, deliveries: 5}]"
	for _, c := range []struct{ profile, options, want string }{
		{one, "queue: {url: 'redis://h'}", "queue is set, and the canary arrives by MQTT: canary: false"},
		{one, "canary: false, queue: {url: 'redis://h', kind: 'heap'}", "queue.kind \"heap\" is not \"stream\" or \"list\""},
		{one, "canary: false, queue: {url: 'http://h'}", "queue.url: redis: invalid URL scheme: http"},
		{five, "canary: false, queue: {url: 'redis://h'}", "the queue hands out each message once, but flow \"a\" has 5 deliveries"},
	} {
		_, err := rt.VU.Runtime().RunString(fmt.Sprintf(
			"new Run({ ingest: {url: 'http://h'}, mqtt: {url: 'mqtt://h'}, profile: %q, %s })", c.profile, c.options))
		assert.ErrorContains(t, err, c.want)
	}
}

package store_test

import (
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/store"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

func TestMissingMessagesAreSoughtBehindThePrefix(t *testing.T) {
	t.Parallel()
	plan, err := profile.Parse("p", "{phases: [{duration: 1, arrivalRate: 5}], flows: [{name: direct}]}")
	require.NoError(t, err)
	requests := pacer.New(plan)
	r := &run.Parts{
		Profile: plan, Bodies: body.New(body.Format{ID: "id"}, plan.Flows, requests, "run.1.", false),
		Course: schedule.New(requests), Notes: test.Notes{T: t},
	}
	r.Ledger = ledger.New(plan, requests)
	client, err := store.Open(t.Context(), network.Network{Dialer: &net.Dialer{}}, test.Redis(t), "shop.eu", r.Clock)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	frame := func(seq int) string { return "a\n\n" + `{"id":"` + r.Bodies.ID(seq) + `"}` }
	add := func(stream string, seq int) {
		require.NoError(t, client.XAdd(t.Context(),
			&redis.XAddArgs{Stream: stream, Values: []any{"frame", frame(seq)}}).Err())
	}
	add("shop.eu:messages", 0)
	add("arrival:messages", 1) // another pipeline's
	require.NoError(t, client.Set(t.Context(), "shop.eu:shards", 2, 0).Err())
	add("shop.eu:{1}:messages", 2)
	require.NoError(t, client.LPush(t.Context(), "shop.eu:list", frame(3)).Err())
	add("shop.eu:{0}:dead-letters", 4)

	r.Ledger.Start(r.Clock.Now())
	for seq := range 5 {
		slot := requests.Slot(seq)
		r.Ledger.Sent(slot, r.Clock.Now())
		r.Ledger.Settle(slot, ledger.Accepted)
	}
	r.Find(t.Context(), client)
	account := r.Ledger.Final()
	assert.Equal(t, []int{3, 1, 1}, []int{account.Queued, account.DeadLettered, account.Lost})
}

func TestPrefixesThatNoPipelineHas(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "arrival", "shop.eu", "a-b_c"} {
		assert.NoError(t, store.CheckPrefix(prefix, "redis.prefix"), prefix)
	}
	for _, prefix := range []string{"a b", "{a}", "a*", "a:b", "a?", "[a]", "ä", "a\n"} {
		assert.ErrorContains(t, store.CheckPrefix(prefix, "redis.prefix"), "QUEUE_PREFIX", prefix)
		assert.ErrorContains(t, store.CheckQueue("redis://h", "list", prefix), "QUEUE_PREFIX", prefix)
	}
}

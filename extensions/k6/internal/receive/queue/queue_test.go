package queue_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive/queue"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// Reading empties the queue. Messages of another run are removed too and count as foreign.
func TestQueueIsReadAndEmptied(t *testing.T) {
	t.Parallel()
	address := test.Redis(t)
	o, err := redis.ParseURL(address)
	require.NoError(t, err)
	own := redis.NewClient(o)
	t.Cleanup(func() { _ = own.Close() })
	for _, kind := range []string{"stream", "list"} {
		plan, err := profile.Parse("p", "phases: [{duration: 1, arrivalRate: 20}]\nflows: [{name: direct}]")
		require.NoError(t, err)
		due := pacer.New(plan)
		r := &run.Parts{
			Profile: plan, Bodies: body.New(body.Format{ID: "id"}, plan.Flows, due, "run.1.", false),
			Course: schedule.New(due), Notes: test.Notes{T: t},
		}
		r.Messages = run.NewMessages(r.Course, r.Bodies, run.Comparison{Every: 1})
		r.Ledger = ledger.New(plan, due)
		r.Ledger.Pass(stages.Default().Until("queue"))
		put := func(frame string) {
			if kind == "list" {
				require.NoError(t, own.LPush(t.Context(), "arrival:list", frame).Err())
				return
			}
			require.NoError(t, own.XAdd(t.Context(),
				&redis.XAddArgs{Stream: "arrival:messages", Values: []string{"frame", frame}}).Err())
		}
		put("user/1\n\nnot ours")
		put("user/1\n1,2 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\n" +
			string(r.Bodies.Append(nil, due.Slot(0))))
		r.Ledger.Start(0)
		r.Ledger.Sent(due.Slot(0), 1)
		ctx, cancel := context.WithCancel(t.Context())
		handed := 0
		sink := receive.NewSink(r, false, func(us []int64) { handed += len(us) })
		o := queue.Options{URL: address, Kind: kind}
		reader, err := o.Open(ctx, r, sink, receive.Means{Network: network.Network{Dialer: &net.Dialer{}}})
		require.NoError(t, err)
		require.Eventually(t, func() bool { return r.Ledger.Deliveries() == 1 }, time.Minute, time.Millisecond)
		reader.Close()
		cancel()
		assert.Equal(t, []int{1, 1}, []int{handed, r.Ledger.Final().Foreign}, kind)
		left, err := own.Exists(t.Context(), "arrival:list").Result()
		require.NoError(t, err)
		assert.Zero(t, left)
		left, err = own.XLen(t.Context(), "arrival:messages").Result()
		require.NoError(t, err)
		assert.Zero(t, left)
		assert.Len(t, r.Ledger.Times(0).Stages, 4)
	}
}

package store_test

import (
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
	"github.com/arrival-bench/arrival/extensions/k6/internal/store"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// 40 messages take 1 to 40 ms. Ingest and relay list every tenth, but relay lacks one of these.
func TestSamplesAreJoinedFromTheTraceLists(t *testing.T) {
	t.Parallel()
	for prefix, before := range map[string]string{"": "arrival", "shop.eu": "shop.eu"} {
		t.Run(before, func(t *testing.T) {
			t.Parallel()
			testSamples(t, prefix, before+":trace:ingest", before+":trace:relay")
		})
	}
}

func testSamples(t *testing.T, prefix, ingestList, relayList string) {
	plan, err := profile.Parse("p", `
phases: [{name: warm-up, duration: 1, arrivalRate: 20, measured: false}, {name: hold, duration: 1, arrivalRate: 20}]
flows: [{name: direct}]`)
	require.NoError(t, err)
	requests := pacer.New(plan)
	r := &run.Parts{
		Profile: plan, Bodies: body.New(body.Format{ID: "id"}, plan.Flows, requests, "run.1.", false),
		Course: schedule.New(requests), Notes: test.Notes{T: t},
	}
	r.Ledger = ledger.New(plan, requests)
	r.Ledger.Keep(10, store.TraceLength)
	client, err := store.Open(t.Context(), network.Network{Dialer: &net.Dialer{}}, test.Redis(t), prefix, r.Clock)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	offset := r.Clock.Offset(r.Clock.Now())
	trace := func(key string, seq int, at int64) {
		entry := fmt.Sprintf(`{"id":%q,"time":%d}`, r.Bodies.ID(seq), at+offset)
		require.NoError(t, client.LPush(t.Context(), key, entry).Err())
	}
	require.NoError(t, client.LPush(t.Context(), ingestList, `{"id":"other.1.10","time":1}`, "no JSON").Err())

	r.Ledger.Start(r.Clock.Now())
	for seq := range 40 {
		slot := requests.Slot(seq)
		due := r.Clock.Now() // any time works: the ledger's times count
		r.Ledger.Sent(slot, due)
		r.Ledger.Settle(slot, ledger.Accepted)
		r.Ledger.Arrive(0, []ledger.Arrival{{Seq: seq, At: due + int64(seq+1)*1000 + slot.Due.Microseconds()}}, nil)
	}
	kept, _ := r.Ledger.Kept()
	require.Len(t, kept, 4)
	for _, k := range kept {
		trace(ingestList, k.Seq, k.Due+200)
		if k.Seq != 30 {
			trace(relayList, k.Seq, k.Arrived-500)
			trace(relayList, k.Seq, k.Arrived+500) // published twice: the first time counts
		}
	}
	all := client.Traces(t.Context(), r, 10)

	require.NotNil(t, all)
	assert.Equal(t, []int64{2, 1}, []int64{all.Of(0).Count, all.Of(1).Count})
	assert.Equal(t, []int{0, 1}, []int{all.Of(0).NotFound, all.Of(1).NotFound})
	whole := all.All()
	assert.Equal(t, []any{10, int64(1), 1}, []any{whole.OneIn, whole.Count, whole.NotFound},
		"the warm-up does not count")
	assert.InDelta(t, 0.2, *whole.Parts.Ingest, 0.05)
	assert.InDelta(t, 0.5, *whole.Parts.Arrival, 0.05)
	assert.InDelta(t, *whole.Mean, *whole.Parts.Ingest+*whole.Parts.Relay+*whole.Parts.Arrival, 1e-6)
	full := runfile.NewLatencies(stages.Default(), r.Ledger.Times(1), false).Arrival
	assert.InDelta(t, *whole.P99-*full.P99, *whole.Against(full).Difference.P99, 1e-9)
	assert.Zero(t, client.Exists(t.Context(), ingestList, relayList).Val(), "the lists are deleted")
}

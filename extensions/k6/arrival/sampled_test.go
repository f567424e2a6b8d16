package arrival

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
)

// Forty messages of 1 to 40 ms, of which every tenth stands in the lists of ingest and relay; one of these in one list alone.
func TestSamplesAreJoinedFromTheTraceLists(t *testing.T) {
	t.Parallel()
	url := startRedis(t)
	s := newScript(t, &fake.Pipeline{}, `
phases: [{name: warm-up, duration: 1, arrivalRate: 20, measured: false}, {name: hold, duration: 1, arrivalRate: 20}]
flows: [{name: direct}]`, fmt.Sprintf("sampled: 10, redis: { url: %q }", url))
	e := s.module.root.engine
	client, err := e.connectRedis(t.Context(), s.state)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	offset := e.Clock.Offset(e.Clock.Now())
	trace := func(key string, seq int, at int64) {
		entry := fmt.Sprintf(`{"id":"%s%d","time":%d}`, e.bodies.prefix, seq, at+offset)
		require.NoError(t, client.LPush(t.Context(), key, entry).Err())
	}
	require.NoError(t, client.LPush(t.Context(), ingestTrace, `{"id":"other.1.10","time":1}`, "no JSON").Err())

	e.Ledger.Start(e.Clock.Now())
	for seq := range 40 {
		slot := e.Pacer.Slot(seq)
		due := e.Clock.Now() // as good as any: what matters is told by the ledger
		e.Ledger.Sent(slot, due)
		e.Ledger.Settle(slot, ledger.Accepted)
		e.Ledger.Arrive(0, []ledger.Arrival{{Seq: seq, At: due + int64(seq+1)*1000 + slot.Due.Microseconds()}}, nil)
	}
	kept, _ := e.Ledger.Kept()
	require.Len(t, kept, 4)
	for _, k := range kept {
		trace(ingestTrace, k.Seq, k.Due+200)
		if k.Seq != 30 {
			trace(relayTrace, k.Seq, k.Arrived-500)
			trace(relayTrace, k.Seq, k.Arrived+500) // published twice: the first time counts
		}
	}
	e.readTraces(t.Context(), client)

	all := e.sampledNow()
	require.NotNil(t, all)
	assert.Equal(t, []int64{2, 1}, []int64{all.phases[0].Count, all.phases[1].Count})
	assert.Equal(t, []int{0, 1}, []int{all.phases[0].NotFound, all.phases[1].NotFound})
	whole := all.whole
	assert.Equal(t, []any{10, int64(1), 1}, []any{whole.OneIn, whole.Count, whole.NotFound}, "the warm-up does not count")
	assert.InDelta(t, 0.2, *whole.Parts.Ingest, 0.05)
	assert.InDelta(t, 0.5, *whole.Parts.Arrival, 0.05)
	assert.InDelta(t, *whole.Mean, *whole.Parts.Ingest+*whole.Parts.Relay+*whole.Parts.Arrival, 1e-6)
	e.life.finished = true // so both phases were reached
	full := e.report(false)
	assert.InDelta(t, *whole.P99-*full.Latency.Arrival.P99, *full.Sampled.Difference.P99, 1e-9)
	assert.Equal(t, *all.phases[0].Mean-*full.Steps[0].Latency.Arrival.Mean, *full.Steps[0].Sampled.Difference.Mean)
	assert.Zero(t, client.Exists(t.Context(), ingestTrace, relayTrace).Val(), "the lists are deleted")
}

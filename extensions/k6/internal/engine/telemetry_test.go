package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/store"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// Regression: the stream of telemetry keeps its newest entries, and was read at the end of a run only. A soak of eight
// hours failed, as the memory in its second quarter was unknown.
func TestTelemetryThatTheStreamNoLongerKeepsIsInTheReport(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, twenty, "")
	e := s.engine
	client, err := store.Open(t.Context(), e.trust.Of(s.state), test.Redis(t), "", e.Clock)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	e.Epoch = time.Now()
	start := e.Clock.At(e.Epoch) + e.Clock.Offset(e.Clock.At(e.Epoch))
	report := func(second, accepted int) {
		require.NoError(t, client.XAdd(t.Context(), &redis.XAddArgs{Stream: client.Telemetry(), Values: map[string]any{
			"process": "ingest-1", "at": start + int64(second)*1_000_000 + 1,
			"data": fmt.Sprintf(`{"cpu_percent":7,"rss_mb":90,"counters":{"accepted":%d},"clock":{"offset_us":3,"bound_us":20}}`,
				accepted),
		}}).Err())
	}
	read := newTelemetry(client)
	report(0, 10)
	report(1, 30)
	require.NoError(t, read.read(t.Context(), e))
	require.NoError(t, client.XTrimMaxLen(t.Context(), client.Telemetry(), 0).Err())
	report(2, 60)
	read.end(t.Context(), e)

	require.Len(t, e.notes.resources, 1)
	assert.Len(t, e.notes.resources[0].Series, 3)
	counts := e.notes.resources[0].Figures.Counts["accepted"]
	assert.InDelta(t, 20, *counts[1], 0)
	assert.InDelta(t, 30, *counts[2], 0, "it counts on from the entry that is gone")
	require.Len(t, e.notes.processes, 1)
	assert.InDelta(t, 0.02, e.notes.processes[0].BoundMS, 1e-9)
}

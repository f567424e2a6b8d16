package spans

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
)

func TestNumbersOfMessagesSayWhoSentThem(t *testing.T) {
	t.Parallel()
	m := NewMixing("run")
	for _, want := range [][2]int{{1, 0}, {1, 41}, {2, 0}, {10_000, 1 << 39}} {
		n := Number(want[0], want[1])
		id := m.TraceOf(n)
		got, ok := m.NumberOf(id[:])
		assert.True(t, ok)
		generator, number := Owner(got)
		assert.Equal(t, want, [2]int{generator, number})
	}
	assert.Equal(t, 41, Number(1, 41), "a run of one instance has the numbers of its ids")
}

// Two generators, the second on a host whose clock is 50 ms behind. All spans come to one endpoint.
func twoGenerators(t *testing.T, redis bool) (k *Keeper, all *Traced) {
	t.Helper()
	const behind = 50 * time.Millisecond
	for number, host := range []string{"here", "away"} {
		g := Generator{Number: number + 1, Host: host, BoundMS: 0.1}
		if redis {
			g.RedisMS = new(3 + float64(number)*50)
		}
		one := &Traced{Asked: Asked{Run: "run", OneIn: 10, All: 500, Generators: []Generator{g}}, IDs: map[int]string{}}
		for n := range 100 {
			due := int64(n)*10_000 + int64(number)*5000
			row := arrived(Number(number+1, n), due, 15*100)
			if number == 1 {
				row.Due, row.Sent, row.Arrived = row.Due-behind.Microseconds(), row.Sent-behind.Microseconds(),
					row.Arrived-behind.Microseconds()
			}
			one.Kept = append(one.Kept, row)
			one.IDs[row.Seq] = fmt.Sprintf("run.%d.%d", number+1, n)
		}
		if all == nil {
			all = one
		} else {
			all.Add(one)
		}
	}
	k = all.Keeper()
	for _, row := range all.Kept {
		_, n := Owner(row.Seq)
		due := int64(n) * 10_000
		if generator, _ := Owner(row.Seq); generator == 2 {
			due += 5000
		}
		take(k, row.Seq, due+100, 100, 20*time.Millisecond, -35*time.Millisecond)
	}
	return k, all
}

// Regression: in the trace of a request with several messages, those that are not sampled were taken for the one that
// is.
func TestSpansOfMessagesThatAreNotSampledAreNoOthers(t *testing.T) {
	t.Parallel()
	traced, all := exportedMessages()
	for n := range int64(5) {
		id := []*commonpb.KeyValue{text(messageID, fmt.Sprint("m", 100+n))}
		all = append(all, made{
			service: "worker", id: "another", parent: "queue", kind: consumer, from: 700, to: 800, attributes: id,
		}.in(NewMixing(traced.Run).TraceOf(int(n)))...)
	}
	k := traced.Keeper()
	k.Take(all)
	d := k.Describe(traced.Sampling("", Default()))
	assert.EqualValues(t, 5, d.Count, "%+v", d.Marks)
}

func TestGeneratorsOnSeveralHostsHaveOneBudgetOfStages(t *testing.T) {
	t.Parallel()
	for _, redis := range []bool{true, false} {
		k, all := twoGenerators(t, redis)
		require.EqualValues(t, 1000, all.All)
		d := k.Describe(all.Sampling("", Default()))
		require.EqualValues(t, 200, d.Count, "%+v", d.Marks)
		assert.InDelta(t, 1.6, *d.Arrival.Mean, 1e-9, "what begins and ends on one host needs no other clock")
		sum, wants := 0.0, []float64{0.1, 0.1, 0.2, 0.3, 0.4, 0.5}
		for i, s := range d.Stages {
			sum += *s.Mean
			assert.InDelta(t, wants[i], *s.Mean, max(s.Bound, 1e-9), s.To)
		}
		assert.InDelta(t, *d.Arrival.Mean, sum, 1e-9)
		for _, c := range d.Clocks {
			assert.InDelta(t, map[string]float64{"away-api": 20, "away-worker": -35}[c.Host], c.OffsetMS,
				c.BoundMS, c.Host)
			assert.Less(t, c.BoundMS, 2.0)
		}
		require.Len(t, d.Slowest, slowestMost)
		for _, s := range d.Slowest[0].Spans {
			assert.InDelta(t, 0.7, s.StartMS, 2, "on the clock of its own generator")
		}
	}
}

func TestWhatRedisShowsOfProcessesHoldsForTheFirstGenerator(t *testing.T) {
	t.Parallel()
	of := func(number int, redis float64) *Traced {
		return &Traced{Asked: Asked{Generators: []Generator{{Number: number, Host: fmt.Sprint(number), RedisMS: &redis,
			BoundMS: 0.1}}}, IDs: map[int]string{}}
	}
	first, second := of(1, 3), of(2, 53)
	// 70 ms ahead of a clock that is 50 behind the first's
	second.Clocks = []Clock{{Instance: "relay-1", OffsetMS: 70, BoundMS: 0.2}}
	first.Add(second)
	require.Len(t, first.Clocks, 1)
	assert.InDelta(t, 20, first.Clocks[0].OffsetMS, 1e-9)
	assert.InDelta(t, 0.4, first.Clocks[0].BoundMS, 1e-9)
}

// The spans that a run has written make the same stages when they are read again.
func TestSpansThatARunHasWrittenAreThoseThatCame(t *testing.T) {
	t.Parallel()
	traced, all := exportedMessages()
	k := traced.Keeper()
	k.Take(all)
	batch := trace([]byte("a batch of two  "))
	both := []trace{k.mixing.TraceOf(1), k.mixing.TraceOf(2)}
	id := []*commonpb.KeyValue{text(messageID, "m2")}
	k.Take(made{service: "away", id: "poll", kind: consumer, from: 600, to: 700, links: both,
		attributes: []*commonpb.KeyValue{text(operation, receives)}}.in(batch))
	k.Take(made{service: "away", id: "call", parent: "poll", kind: client, from: 900, to: 950,
		attributes: append(id, text(requestMethod, "POST"))}.in(batch))
	k.Take(made{service: "nobody", id: "other", kind: server, from: 1, to: 2}.in(trace{1}))
	dir, again := t.TempDir(), t.TempDir()
	require.NoError(t, k.Write(dir, func(n int) string { return traced.IDs[n] }))
	require.NoError(t, Copy([]string{dir, t.TempDir()}, again))
	read := traced.Keeper()
	require.NoError(t, ReadExported(filepath.Join(again, SpansName), func(of Exported) { read.Take(of) }))
	want, got := k.Describe(traced.Sampling("", Default())), read.Describe(traced.Sampling("", Default()))
	assert.Equal(t, want.Received.Own, got.Received.Own)
	assert.Equal(t, want.Received.Linked, got.Received.Linked)
	assert.Zero(t, got.Received.Others, "spans of other traces are not written")
	got.Received = want.Received
	assert.Equal(t, sortedClocks(want), sortedClocks(got))
	got.Clocks = want.Clocks
	assert.Equal(t, want, got)

	empty := t.TempDir()
	require.NoError(t, traced.Keeper().Write(empty, nil))
	require.NoError(t, Copy([]string{empty}, t.TempDir()))
	assert.NoFileExists(t, filepath.Join(empty, SpansName))
}

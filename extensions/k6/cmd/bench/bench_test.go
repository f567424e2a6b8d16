package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
)

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args string
		want string // in the error; empty: no error
	}{
		"no options":      {"", ""},
		"all options":     {"--only pump,memory --warmup 0s --duration 2s --rounds 1 --rate 1 --messages 1", ""},
		"short duration":  {"--duration 900ms", "--duration 900ms is below 1s"},
		"zero rounds":     {"--rounds 0", "1 or more"},
		"stray word":      {"pump", `"pump" is no option`},
		"negative warmup": {"--warmup -1s", "below 0"},
	} {
		_, err := parse(strings.Fields(c.args))
		if c.want == "" {
			assert.NoError(t, err, name)
		} else {
			assert.ErrorContains(t, err, c.want, name)
		}
	}
	chosen, err := choose("pump,sender")
	require.NoError(t, err)
	assert.Equal(t, "pump", chosen[0].name)
	assert.Equal(t, "sender", chosen[1].name)
	_, err = choose("pump,speed")
	assert.ErrorContains(t, err, `--only "speed" is no row`)
}

func TestTheTableMarksMissedRatios(t *testing.T) {
	t.Parallel()
	held := figure{
		row: "sender", baseline: side{"k6/http", 72.04, "µs"}, ours: side{"run.send()", 18, "µs"}, ratio: 0.25,
		limit: 0.4,
	}
	missed := figure{
		row: "measuring", baseline: side{"none", 101.2, "µs"}, ours: side{"all", 106.5, "µs"},
		ratio: 0.95, limit: 0.97, atLeast: true, notes: []string{"a note"},
	}
	assert.True(t, held.holds())
	assert.False(t, missed.holds())
	held.ratio, missed.ratio = 0.4, 0.97
	assert.True(t, held.holds(), "a ratio at the limit holds")
	assert.True(t, missed.holds())
	held.ratio = -0.1
	assert.False(t, held.holds(), "regression: a cost below 0 is an error of the measurement")
	held.ratio, missed.ratio = 0.41, 0.95
	assert.False(t, held.holds())
	assert.Equal(t, `
figure      baseline        ours               ratio   wanted   ok
sender      k6/http 72 µs   run.send() 18 µs   0.410   ≤ 0.40   NO
measuring   none 101 µs     all 106 µs         0.950   ≥ 0.97   NO

measuring: a note
`, table([]figure{held, missed}))
}

func TestMedian(t *testing.T) {
	t.Parallel()
	assert.InDelta(t, 2.0, median([]float64{3, 1, 2}), 0)
	assert.InDelta(t, 2.5, median([]float64{4, 1, 3, 2}), 0)
}

func TestRatioEstimate(t *testing.T) {
	t.Parallel()
	rounds := func(n int) (all pairs) {
		// The ratios' logarithms are 1, 2, 4 … thousandths, so all pairwise means differ.
		for i := range n {
			ours := time.Duration(1e9 * math.Exp(math.Pow(2, float64(i))/1000))
			all = append(all, [2]use{
				{count: 1, cpu: map[string]time.Duration{"": 1e9}}, {count: 1, cpu: map[string]time.Duration{"": ours}},
			})
		}
		return all
	}
	for n, want := range map[int]struct { // from tables of the Wilcoxon signed-rank test
		cut        int     // means left out at each end
		confidence float64 // %
	}{
		1: {0, 0}, 2: {0, 50}, 5: {0, 93.75}, 6: {0, 96.875}, 8: {3, 96.09375}, 9: {5, 96.09375}, 10: {8, 95.1171875},
		12: {13, 95.751953125},
	} {
		var means []float64
		for i := range n {
			for j := i; j < n; j++ {
				means = append(means, math.Exp((math.Pow(2, float64(i))+math.Pow(2, float64(j)))/2000))
			}
		}
		slices.Sort(means)
		ratio, low, high, confidence := rounds(n).estimate(cost)
		assert.InEpsilon(t, median(means), ratio, 1e-3, n)
		assert.InEpsilon(t, means[want.cut], low, 1e-6, n)
		assert.InEpsilon(t, means[len(means)-1-want.cut], high, 1e-6, n)
		assert.InDelta(t, want.confidence, confidence, 1e-9, n)
	}
	assert.Equal(t, "the limit holds", conclusion(0.97, 1, 0.97))
	assert.Equal(t, "the limit is missed", conclusion(0.9, 0.96, 0.97))
	assert.Contains(t, conclusion(0.9, 0.97, 0.97), "more rounds")
}

func TestUse(t *testing.T) {
	t.Parallel()
	used := map[string]time.Duration{"k6": 9 * time.Millisecond, "redis": time.Millisecond}
	whole := use{cpu: used, count: 1000, seconds: 0.5}
	assert.InDelta(t, 10.0, whole.perItem(), 1e-9)
	assert.InDelta(t, 9.0, whole.of("k6"), 1e-9)
	assert.InDelta(t, 2000.0, whole.rate(), 1e-9)
	rest := use{cpu: map[string]time.Duration{"k6": 4 * time.Millisecond}, count: 2000, seconds: 1}
	left := whole.without(rest)
	assert.InDelta(t, 7.0, left.of("k6"), 1e-3, "subtracts 2 µs an item, not the total")
	assert.InDelta(t, 1.0, left.of("redis"), 1e-3)
	assert.InDelta(t, 9.0, whole.of("k6"), 1e-9, "unchanged")
}

func TestSidesAlternate(t *testing.T) {
	t.Parallel()
	b := &bench{}
	order := ""
	side := func(name string, us ...time.Duration) func() use {
		return func() use {
			order += name
			cpu := us[0] * time.Microsecond
			us = us[1:]
			return use{cpu: map[string]time.Duration{"k6": cpu}, count: 1, seconds: 1}
		}
	}
	all := b.alternate(3, "request", side("a", 10, 20, 40), side("b", 5, 20, 30))
	assert.Equal(t, "abbaab", order)
	assert.InDelta(t, 20.0, all.median(0, use.perItem), 1e-9)
	assert.InDelta(t, 20.0, all.median(1, use.perItem), 1e-9)
	assert.InDelta(t, 0.75, all.ratio(cost), 1e-9, "the median of the ratios, not the ratio of the medians")
	require.ErrorIs(t, must.Try(func() {
		b.alternate(3, "request", side("a", 1), func() use { return must.Get(use{}, exec.ErrNotFound) })
	}), exec.ErrNotFound)
}

func TestCPUOfAProcess(t *testing.T) {
	t.Parallel()
	before, err := cpuOf(os.Getpid())
	require.NoError(t, err)
	for until := time.Now().Add(5 * time.Millisecond); time.Now().Before(until); { // uses CPU time
	}
	after, err := cpuOf(os.Getpid())
	require.NoError(t, err)
	assert.Greater(t, after, before)
	_, err = cpuOf(1<<28 - 1) // above any pid_max
	require.ErrorContains(t, err, "process 268435455")
}

func TestEachMessageOfABatchIsPublished(t *testing.T) {
	t.Parallel()
	at := time.Now()
	one := string(message(7, []byte("user/07"), at))
	assert.Len(t, one, messageBytes)
	bodies := map[string]int{
		one:                                     1,
		"[" + one + "]":                         1,
		"[" + one + "," + one + "," + one + "]": 3,
		`{"id":"a","target":"b","payload":"},x{"}`: 1,
	}
	for body, want := range bodies {
		var packet []byte
		var sent []string
		split([]byte(body), func(m []byte) {
			sent = append(sent, string(m))
			packet = appendPublish(packet, target(m), m, at)
		})
		require.Len(t, sent, want, body)
		reader := bytes.NewReader(packet)
		for _, m := range sent {
			got, err := packets.ReadPacket(reader)
			require.NoError(t, err)
			p := got.Content.(*packets.Publish)
			assert.Equal(t, m, string(p.Payload))
			assert.Equal(t, "messages/"+string(target([]byte(m))), p.Topic)
			require.Len(t, p.Properties.User, 1)
			assert.Equal(t, "hops", p.Properties.User[0].Key)
			assert.Equal(t, fmt.Sprintf("%d,35,112,40", at.UnixMicro()), p.Properties.User[0].Value)
		}
		assert.Zero(t, reader.Len())
	}
	assert.Nil(t, target([]byte(`{"id":"a"}`)))
}

func TestCloseStopsAllProcesses(t *testing.T) {
	t.Parallel()
	b := &bench{root: "../../../..", dir: t.TempDir(), stopWatchdog: func() {}}
	p := b.start("a sleeper", nil, "sleep", "3600")
	closed := false
	b.closers = append(b.closers, func() { closed = true })
	b.close()
	assert.True(t, closed)
	<-p.done
	assert.ErrorContains(t, p.failure(), "a sleeper: signal: terminated")
	assert.NoDirExists(t, b.dir)
	peak, err := peakOf(p)
	require.NoError(t, err)
	assert.Positive(t, peak)

	b = &bench{root: "../../../..", stopWatchdog: func() {}}
	defer b.close()
	err = b.start("a failing process", nil, "sh", "-c", "echo not today; exit 3").wait(t.Context())
	require.ErrorContains(t, err, "exit status 3\nnot today")
	require.NoError(t, b.start("a k6 whose run fails", nil, "sh", "-c", "exit 110").wait(t.Context(), notPassed))
	require.ErrorIs(t, must.Try(func() { b.start("a missing program", nil, "no-such-program") }), exec.ErrNotFound)
}

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		"no requests":     {"--rate 0", "1 or more"},
		"stray word":      {"pump", `"pump" is not an option`},
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
	assert.ErrorContains(t, err, `--only "speed" is not a row`)
}

// summary is benchstat's of the benchmarks of two rows, with these ratios.
func summary(sender, measuring string) string {
	text := ""
	for unit, values := range map[string][2]string{
		"baseline": {"72.04", "101.2"}, "ours": {"18", "106.5"}, "ratio": {sender, measuring},
	} {
		text += ",.stack/bench.txt,\n," + unit + ",CI\nSender/round-2," + values[0] + ",3%\nMeasuring-2," + values[1] +
			",∞\ngeomean,1,\n\n"
	}
	return "goos: linux\n" + text
}

func TestTheTableMarksMissedRatios(t *testing.T) {
	t.Parallel()
	chosen, err := choose("sender,measuring")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		sender, measuring string
		hold              bool
	}{
		"both hold":    {"0.25", "0.98", true},
		"at the limit": {"0.4", "0.97", true},
		"above":        {"0.41", "0.97", false},
		"below":        {"0.4", "0.95", false},
		"regression: a cost below 0 is an error of the measurement": {"-0.1", "0.97", false},
	} {
		all, err := medians([]byte(summary(c.sender, c.measuring)))
		require.NoError(t, err)
		_, hold, err := table(chosen, all)
		require.NoError(t, err, name)
		assert.Equal(t, c.hold, hold, name)
	}
	all, err := medians([]byte(summary("0.41", "0.95")))
	require.NoError(t, err)
	text, _, err := table(chosen, all)
	require.NoError(t, err)
	assert.Contains(t, text, `
figure      baseline                  ours                       ratio   95 %   wanted   ok
sender      k6/http 72 µs             run.send() 18 µs           0.410   ± 3%   ≤ 0.40   NO
measuring   not measured 101 /CPU s   every message 106 /CPU s   0.950   ± ∞    ≥ 0.97   NO

sender: `)
	delete(all, "Measuring ratio")
	_, _, err = table(chosen, all)
	assert.ErrorContains(t, err, `measuring: the benchmark did not report "ratio"`)
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
	order := ""
	side := func(name string) func() string {
		return func() string {
			order += name
			return name
		}
	}
	for round := range 3 {
		assert.Equal(t, [2]string{"a", "b"}, measure(round, side("a"), side("b")), "the baseline is first in the result")
	}
	assert.Equal(t, "abbaab", order)
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

func TestMemoryOfAProcess(t *testing.T) {
	t.Parallel()
	c := exec.Command("true")
	require.NoError(t, c.Run())
	peak, err := peakOf(c.ProcessState)
	require.NoError(t, err)
	assert.Positive(t, peak)
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

package main

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

func logDeliveries(o *outcome, ms ...float64) {
	began, _ := time.Parse(time.RFC3339Nano, o.generators[0].run.Run.Started)
	for i, late := range ms {
		due := began.Add(time.Millisecond + time.Duration(i)*time.Second/time.Duration(o.rate))
		o.generators[0].log = append(o.generators[0].log, fake.Delivery{
			ID: fmt.Sprintf("run.1.%d", i), Written: due.Add(time.Duration(late * 1e6)),
		})
	}
}

func TestAQuantileBelowTheRecordFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		measured float64
		want     bool
	}{{51, false}, {52, true}, {61, true}, {64, false}} {
		o := newOutcome(&testCase{rate: 100}, 4, 50, c.measured, c.measured, 90)
		logDeliveries(o, 50, 52, 52, 80)
		assert.Equal(t, c.want, holds(quantile(50, 50*ms)(o)), "%g", c.measured)
	}
}

func TestCoordinatedOmissionIsDetected(t *testing.T) {
	t.Parallel()
	c := &testCase{rate: 1000, pipelines: one(frozen)}
	var honest, omitted []float64
	for i := range 1000 {
		honest = append(honest, float64(1000-i))
		omitted = append(omitted, 1)
	}
	omitted[0] = 1000
	for _, measured := range [][]float64{honest, omitted} {
		o := newOutcome(c, 1000, measured...)
		o.generators[0].fake = frozen()
		logDeliveries(o, honest...)
		sound := measured[1] > 1
		assert.Equal(t, sound, holds(slowCount(o)))
		assert.Equal(t, sound, holds(slowQuartiles(o)))
		assert.True(t, holds(slowest(o)), "the slowest message alone does not show the omission")
	}
}

func TestFromSendMustMissTheFreeze(t *testing.T) {
	t.Parallel()
	for slow, want := range map[int]bool{0: false, 1: true, 4: true, 5: false, 10: false} {
		times := ledger.Series{Histogram: empty()}
		for i := range 10 {
			times.Add(map[bool]int64{true: 500_000, false: 1000}[i < slow])
		}
		o := newOutcome(&testCase{}, 10, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500)
		o.generators[0].run.Latency.FromSend = runfile.NewLatency(&times, true)
		assert.Equal(t, want, holds(uncorrected(o)), slow)
	}
}

func TestAWrongBucketIsDetected(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"2.5": true, "2.502": false} {
		o := newOutcome(&testCase{}, 2, 1.5, 2.5)
		o.whole = o.generators[0]
		o.generators[0].dir = t.TempDir()
		points := `{"type":"Metric","metric":"arrival_latency","data":{"name":"arrival_latency"}}
{"type":"Point","metric":"arrival_latency","data":{"value":1.5}}
{"type":"Point","metric":"http_reqs","data":{"value":1}}
{"type":"Point","metric":"arrival_latency","data":{"value":` + value + "}}\n"
		require.NoError(t, os.WriteFile(o.generators[0].points(), []byte(points), 0o600))
		assert.Equal(t, want, holds(merged(o)), value)
	}
}

func TestTheClockMustBeWithinItsBound(t *testing.T) {
	t.Parallel()
	ended := "2026-11-21T12:00:10.000Z"
	for _, c := range []struct {
		offset, drift        float64
		offsetOK, driftRight bool
	}{{500.009, 0, true, true}, {500.011, 0, false, true}, {-500, 0, false, true}, {499.991, 8, true, false}} {
		o := newOutcome(&testCase{}, 1)
		o.generators[0].run.Run.Ended = &ended
		o.generators[0].fake = &fake.Pipeline{Redis: &fake.Redis{Clock: fake.Clock{Ahead: 500 * ms}}}
		o.generators[0].run.Clock = runfile.Clock{Reference: "redis TIME", OffsetMS: &c.offset, BoundMS: 0.01,
			DriftPPM: &c.drift}
		assert.Equal(t, c.offsetOK, holds(offset(o)), "%+v", c)
		assert.Equal(t, c.driftRight, holds(drift(0)(o)), "%+v", c)
	}
}

func TestPercentilesAgreeWithTheHistogram(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 3, 10, 400, 1001} {
		h, times := hdrhistogram.New(1, ledger.Highest, 3), []float64{}
		for i := range n {
			times = append(times, float64(i))
			require.NoError(t, h.RecordValue(int64(i)))
		}
		for _, p := range []float64{25, 50, 75, 99} {
			assert.Equal(t, h.ValueAtPercentile(p), int64(at(times, p)), "p%g of %d", p, n)
		}
	}
}

func TestArrivalsMustBeNearTheirWrites(t *testing.T) {
	t.Parallel()
	began := time.Now()
	for name, c := range map[string]struct {
		arrivals []float64 // after the write, ms
		slow     int       // slow writes
		want     bool
	}{
		"prompt":                      {slices.Repeat([]float64{0.05}, 200), 0, true},
		"two of 200 late":             {append(slices.Repeat([]float64{0.05}, 198), 5, 5), 0, true},
		"three of 200 late":           {append(slices.Repeat([]float64{0.05}, 197), 5, 5, 5), 0, false},
		"three late, one slow write":  {append(slices.Repeat([]float64{0.05}, 197), 5, 5, 5), 1, false},
		"three late, two slow writes": {append(slices.Repeat([]float64{0.05}, 197), 5, 5, 5), 2, true},
		"all late":                    {slices.Repeat([]float64{0.2}, 200), 0, false},
		"only slow writes":            {slices.Repeat([]float64{0.05}, 200), 200, false},
	} {
		o := newOutcome(&testCase{}, len(c.arrivals))
		delivery := &ledger.Series{Histogram: empty()}
		for i, ms := range c.arrivals {
			delivery.Add(int64(ms * 1000))
			took := 20 * time.Microsecond
			if i < c.slow {
				took = time.Millisecond
			}
			o.generators[0].log = append(o.generators[0].log,
				fake.Delivery{Made: began, Handed: began.Add(took), Acked: began.Add(time.Second)})
		}
		o.generators[0].run.Latency.Stages = map[string]runfile.Latency{"delivery": runfile.NewLatency(delivery, true)}
		assert.Equal(t, c.want, holds(readDelay(o)), name)
	}
}

func TestMostArrivalsMustHaveKernelStamps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kernel, read int64
		want         bool
	}{{100, 0, true}, {95, 5, true}, {94, 6, false}, {95, 4, false}, {0, 100, false}, {0, 0, false}} {
		o := newOutcome(&testCase{}, 100)
		o.generators[0].run.Health.ArrivalStamps = runfile.ArrivalStamps{Kernel: c.kernel, Read: c.read}
		assert.Equal(t, c.want, holds(stamped(o)), "%+v", c)
	}
}

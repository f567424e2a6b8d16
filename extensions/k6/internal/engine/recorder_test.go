package engine

import (
	"os"
	"runtime"
	"testing"
	"time"

	host "github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/process"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// Regression: memory was in units of 2^20 bytes, 5 % less than the pipeline's units of 10^6. Not
// parallel: other tests' allocations would count.
func TestMemoryIsInDecimalMegabytes(t *testing.T) {
	self, err := process.NewProcess(int32(os.Getpid()))
	require.NoError(t, err)
	measured := (&recorder{engine: &Engine{}, sender: &meter{process: self}}).usage(0).RSSMB
	if measured == nil {
		t.Skip("the system does not report it")
	}
	now, err := self.MemoryInfo()
	require.NoError(t, err)
	assert.InEpsilon(t, float64(now.RSS)/1e6, *measured, 0.03)
}

// Not parallel: other tests' work would count.
func TestCPUIsInPercentOfACore(t *testing.T) {
	m := newMeter(os.Getpid())
	used, err := m.process.Times()
	require.NoError(t, err)
	now := time.Now()
	m.at, m.cpu = now.Add(-2*time.Second), used.User+used.System-1
	percent, _ := m.read(now)
	require.NotNil(t, percent)
	assert.InDelta(t, 50, *percent, 10, "half of 2 s, and what the reading took")
}

// Regression: each second stayed in memory, with 885 B: 76 MB of a day. Not parallel: other tests' allocations would
// count.
func TestTheMemoryOfASecondIsSmall(t *testing.T) {
	s := newScript(t, &fake.Pipeline{}, "phases: [{duration: 60, arrivalRate: 10}]\nflows: [{name: direct}]", "")
	e := s.engine
	e.dir.at, e.Epoch = s.dir, time.Now()
	rec, err := newRecorder(e)
	require.NoError(t, err)
	defer rec.close()
	const seconds = 1500
	live := func() (m runtime.MemStats) {
		for range seconds {
			rec.cut()
		}
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m
	}
	before := live() // includes what a run has once, and the bins of the live heap
	after := live()
	assert.Less(t, (float64(after.HeapAlloc)-float64(before.HeapAlloc))/seconds, 100.0,
		"bytes a second; three numbers are needed")
	r := e.report(false)
	require.NoError(t, rec.failed())
	require.Len(t, r.Timeline, 2*seconds)
	for i, second := range r.Timeline {
		require.Equal(t, i, second.T)
	}
}

// Regression: run.json then had the timeline null, so no command could read it, and none of the seconds before.
func TestABrokenTimelineLeavesAReadableReport(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, "phases: [{duration: 60, arrivalRate: 10}]\nflows: [{name: direct}]", "")
	e := s.engine
	e.dir.at, e.Epoch = s.dir, time.Now()
	rec, err := newRecorder(e)
	require.NoError(t, err)
	defer rec.close()
	rec.cut()
	rec.cut()
	_, err = rec.timeline.WriteString("{broken\n")
	require.NoError(t, err)
	rec.cut()
	require.NoError(t, e.write())
	r := s.written()
	require.Len(t, r.Timeline, 2)
	assert.Contains(t, r.Verdict.Rules, runfile.Rule{
		Name: "instrument", Part: "run", OK: new(false), Result: runfile.Invalid,
		Reason: "the run's timeline can't be read: " + rec.timeline.Name() +
			" is broken in line 3: invalid character 'b' looking for beginning of object key string",
	})

	require.NoError(t, os.Remove(rec.timeline.Name()))
	require.NoError(t, e.write())
	assert.Empty(t, s.written().Timeline)
}

func TestStealIsAShareOfTheHostsCPU(t *testing.T) {
	t.Parallel()
	before := host.TimesStat{User: 5, Idle: 90, Steal: 5}
	steal, busy := hostBetween(before, host.TimesStat{User: 6, Idle: 92, Steal: 6})
	assert.InDelta(t, 25, *steal, 1e-9)
	assert.NotNil(t, busy)
	steal, busy = hostBetween(host.TimesStat{}, host.TimesStat{User: 5, Idle: 15})
	assert.Nil(t, steal, "a host without a hypervisor")
	assert.InDelta(t, 25, *busy, 1e-9)
}

// Regression: a report was written every 5 s however long that took, 17,000 times a day, with 985
// GB of JSON in all.
func TestReportsOfALongRunCostLittle(t *testing.T) {
	t.Parallel()
	const rowBytes, bytesPerSecond = 660, 25e6 // JSON per second of a run; written by a slow machine
	for _, c := range []struct {
		lasts       time.Duration
		most, least int // reports
		gigabytes   float64
	}{
		{10 * time.Minute, 120, 70, 0.05},
		{24 * time.Hour, 1200, 24 * 12, 30},
	} {
		start := time.Now()
		end := start.Add(c.lasts)
		reports, written, busy, oldest := 0, 0.0, time.Duration(0), time.Duration(0)
		for now, last := start.Add(checkpoint), start; now.Before(end); reports++ {
			size := 2 * rowBytes * now.Sub(start).Seconds() // run.json and the page
			ended := now.Add(time.Duration(size / bytesPerSecond * float64(time.Second)))
			written, busy = written+size/1e9, busy+ended.Sub(now)
			oldest = max(oldest, ended.Sub(last))
			last, now = now, nextCheckpoint(start, now, ended)
		}
		assert.LessOrEqual(t, reports, c.most, c.lasts)
		assert.GreaterOrEqual(t, reports, c.least, c.lasts)
		assert.LessOrEqual(t, written, c.gigabytes, c.lasts)
		assert.LessOrEqual(t, busy, c.lasts/50, "checkpointMost allows more than 1 % late in a day")
		assert.LessOrEqual(t, oldest, checkpointMost+10*time.Second, c.lasts)
	}
}

// Regression: of a run that was killed after 4 s the report said that it was cut off before it began.
func TestTheFirstReportsComeSoon(t *testing.T) {
	t.Parallel()
	start := time.Now()
	const writing = 10 * time.Millisecond
	var at []float64
	for next := start.Add(checkpointFirst); next.Before(start.Add(20 * time.Second)); {
		at = append(at, next.Sub(start).Truncate(time.Second).Seconds())
		next = nextCheckpoint(start, next, next.Add(writing))
	}
	assert.Equal(t, []float64{1, 2, 4, 8, 13, 18}, at)
}

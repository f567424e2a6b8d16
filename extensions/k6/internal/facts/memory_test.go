package facts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// resident is a process with a reading of its resident memory in each second; nil: unknown.
func resident(name string, from, to int, mb func(t float64) *float64) runfile.Resource {
	r := runfile.Resource{Process: name}
	for t := from; t < to; t++ {
		r.Series = append(r.Series, [3]*float64{new(float64(t)), new(1.0), mb(float64(t))})
	}
	return r
}

func flat(mb float64) func(float64) *float64 { return func(float64) *float64 { return &mb } }

func line(at, slope float64) func(float64) *float64 {
	return func(t float64) *float64 { return new(at + slope*t) }
}

// soaked is a run of 100 measured seconds.
func soaked(resources ...runfile.Resource) *runfile.Run {
	r := offered(100)
	r.Run.Tool.Name = "k6"
	r.Steps[0].DurationS = 100
	r.Resources = resources
	return r
}

func grownOf(t *testing.T, grown []runfile.MemoryGrowth, process string) runfile.MemoryGrowth {
	t.Helper()
	for _, g := range grown {
		if g.Process == process {
			return g
		}
	}
	require.Fail(t, "no process "+process)
	return runfile.MemoryGrowth{}
}

func TestMemoryGrowthIsListedByProcessLargestFirst(t *testing.T) {
	t.Parallel()
	collector := resident("collector", 0, 100, line(150, 1))
	collector.Figures = &runfile.Figures{T: []int{30, 80}, Gauges: map[string][]*float64{
		"live_heap_mb": {new(44.0), new(45.0)}, "external_mb": {new(20.0), new(22.0)},
	}}
	grown := NewMemoryGrowth(soaked(
		resident("flat", 0, 100, flat(70)), resident("leak", 0, 100, line(50, 1)),
		resident("silent", 0, 100, func(float64) *float64 { return nil }), resident("forgotten", 50, 100, flat(70)),
		resident("k6", 0, 100, line(90, -0.1)), collector,
		resident("sawtooth", 0, 100, func(t float64) *float64 { return new(100 + float64(int(t)*7%20)) }),
	))
	var names []string
	for _, g := range grown {
		names = append(names, g.Process)
	}
	assert.Equal(t, []string{"leak", "collector", "flat", "sawtooth", "k6", "silent", "forgotten"}, names)
	for process, mb := range map[string]float64{"leak": 50, "collector": 3, "flat": 0, "sawtooth": 0, "k6": -5} {
		assert.InDelta(t, mb, *grownOf(t, grown, process).GrewMB, 1e-9, process)
	}
	assert.Nil(t, grownOf(t, grown, "silent").GrewMB)
	assert.Nil(t, grownOf(t, grown, "forgotten").GrewMB, "it is not known in the second quarter")
}

func TestTheLiveHeapCountsBeforeResidentMemory(t *testing.T) {
	t.Parallel()
	ingest := resident("ingest", 0, 100, line(100, 1))
	ingest.Figures = &runfile.Figures{T: []int{30, 80}, Gauges: map[string][]*float64{"live_heap_mb": {new(44.0), nil}}}
	half := grownOf(t, NewMemoryGrowth(soaked(ingest)), "ingest")
	assert.Equal(t, runfile.RSS, half.Of, "the heap of the last quarter is not known")
	ingest.Figures.Gauges["live_heap_mb"][1] = new(46.0)
	whole := grownOf(t, NewMemoryGrowth(soaked(ingest)), "ingest")
	assert.Equal(t, runfile.Heap, whole.Of)
	assert.InDelta(t, 2, *whole.GrewMB, 1e-9)
}

func TestQuartersOfMemoryAreThoseOfTheMeasuredTime(t *testing.T) {
	t.Parallel()
	run := soaked(resident("ingest", 0, 140, line(0, 1)))
	run.Steps = []runfile.Step{{DurationS: 40}, {StartS: 40, DurationS: 40, Measured: true},
		{StartS: 80, DurationS: 60, Measured: true}}
	assert.InDelta(t, 50, *NewMemoryGrowth(run)[0].GrewMB, 1e-9, "from second 65 to 115")
	assert.Nil(t, NewMemoryGrowth(&runfile.Run{}))
}

func TestTheMostThatAProcessOfThePipelineHasGrown(t *testing.T) {
	t.Parallel()
	most := func(resources ...runfile.Resource) *float64 { return MostGrowth(NewMemoryGrowth(soaked(resources...))) }
	leak, shrinks := resident("ingest", 0, 100, line(50, 1)), resident("relay-1", 0, 100, line(90, -0.1))
	host, k6 := resident("host", 0, 100, line(0, 9)), resident("k6", 0, 100, line(0, 9))
	silent := func(name string) runfile.Resource { return resident(name, 0, 0, nil) }
	assert.InDelta(t, 50, *most(leak, shrinks, host, k6), 1e-9)
	assert.InDelta(t, 0, *most(shrinks, host), 1e-9, "what shrinks does not make up for what grows")
	assert.InDelta(t, 50, *most(leak, silent("host")), 1e-9)
	assert.Nil(t, most(leak, silent("redis")), "one process reported nothing")
	assert.Nil(t, most(host, k6), "only host and generator reported")
	assert.Nil(t, most())
}

// Regression: only the name k6 was known as a generator's.
func TestEachGeneratorOfAMergedRunIsNoneOfThePipeline(t *testing.T) {
	t.Parallel()
	run := soaked(resident("k6-2", 0, 100, line(0, 9)), resident("recorder", 0, 100, line(0, 9)),
		resident("ingest", 0, 100, flat(70)))
	run.Generators = []runfile.Instance{{Number: 1}, {Number: 2}}
	assert.InDelta(t, 0, *MostGrowth(NewMemoryGrowth(run)), 1e-9)
}

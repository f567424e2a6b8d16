package facts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// costly is a run of ten seconds whose tool used half a core for 10,000 messages.
func costly(tool string, processes ...string) *runfile.Run {
	r := &runfile.Run{Account: runfile.Account{Scheduled: 10_000}}
	r.Run.Tool.Name = tool
	r.Steps = []runfile.Step{{DurationS: 4}, {DurationS: 6}}
	r.Run.Profile.Phases = []runfile.Phase{{DurationS: 4}, {DurationS: 6}, {DurationS: 90}} // the last was not reached
	for _, process := range processes {
		one := runfile.Resource{Process: process}
		one.CPUPercent.Mean, one.RSSMB.Max = new(50.0), new(90.0)
		r.Resources = append(r.Resources, one)
	}
	return r
}

func TestTheCostOfAMessageCountsAllProcessesOfTheGenerator(t *testing.T) {
	t.Parallel()
	one := generatorCost(costly("k6", "k6", "ingest-1", "host"))
	require.NotNil(t, one.CPUPerMessageUS)
	assert.InDelta(t, 500, *one.CPUPerMessageUS, 1e-9)
	assert.InDelta(t, 90, *one.MemoryMB, 1e-9)
	two := generatorCost(costly("artillery", "artillery", "recorder"))
	assert.InDelta(t, 1000, *two.CPUPerMessageUS, 1e-9)
	assert.InDelta(t, 180, *two.MemoryMB, 1e-9)
}

func TestACostThatOneProcessDoesNotReportIsNotKnown(t *testing.T) {
	t.Parallel()
	r := costly("artillery", "artillery", "recorder")
	r.Resources[1].CPUPercent.Mean = nil
	assert.Nil(t, generatorCost(r).CPUPerMessageUS)
	assert.NotNil(t, generatorCost(r).MemoryMB)
	assert.Equal(t, runfile.GeneratorCost{}, generatorCost(costly("k6", "ingest-1")))
	r = costly("k6", "k6")
	r.Account.Scheduled = 0
	assert.Nil(t, generatorCost(r).CPUPerMessageUS)
}

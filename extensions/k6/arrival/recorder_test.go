package arrival

import (
	host "github.com/shirou/gopsutil/v4/cpu"
	"os"
	"testing"

	"github.com/shirou/gopsutil/v4/process"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// It was in 2^20 bytes, 5 % less, beside a pipeline that tells 10^6. Not parallel: what other tests allocate in between would count.
func TestMemoryIsInTenToTheSixBytes(t *testing.T) {
	self, err := process.NewProcess(int32(os.Getpid()))
	require.NoError(t, err)
	told := (&recorder{self: self}).usage().RSSMB
	if told == nil {
		t.Skip("the system does not tell")
	}
	now, err := self.MemoryInfo()
	require.NoError(t, err)
	assert.InEpsilon(t, float64(now.RSS)/1e6, *told, 0.03)
}

func TestStealIsAShareOfTheHostsCPU(t *testing.T) {
	t.Parallel()
	before := host.TimesStat{User: 5, Idle: 90, Steal: 5}
	assert.InDelta(t, 25, *stealBetween(before, host.TimesStat{User: 6, Idle: 92, Steal: 6}), 1e-9)
	assert.Nil(t, stealBetween(host.TimesStat{}, host.TimesStat{User: 5, Idle: 90}), "a host that no hypervisor divides")
}

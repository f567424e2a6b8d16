package facts

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// holding is a run whose k6 opens connections for two seconds and holds them for two.
func holding() *runfile.Run {
	r := &runfile.Run{}
	k6 := runfile.Resource{Process: "k6"}
	for t, row := range [][2]float64{{50, 100}, {50, 150}, {10, 200}, {30, 300}, {90, 300}} {
		k6.Series = append(k6.Series, [3]*float64{new(float64(t)), new(row[0]), new(row[1])})
	}
	k6.Series = append(k6.Series, [3]*float64{nil, new(1.0), new(1.0)})
	r.Resources = []runfile.Resource{k6}
	return r
}

func TestTheCostOfAConnectionIsMemoryUntilAllAreOpenAndCPUWhileTheyAreHeld(t *testing.T) {
	t.Parallel()
	cost := NewConnectionCost(holding(), "k6", 1000, runfile.Span{FromS: 2, ToS: 4})
	assert.InDelta(t, 100, *cost.MemoryKB, 1e-9)
	assert.InDelta(t, 200, *cost.CPUUSPerS, 1e-9)
}

func TestTheCostOfAProcessThatReportedNothingIsNotKnown(t *testing.T) {
	t.Parallel()
	for _, cost := range []runfile.ConnectionCost{
		NewConnectionCost(holding(), "mosquitto", 10, runfile.Span{FromS: 2, ToS: 4}),
		NewConnectionCost(holding(), "k6", 10, runfile.Span{FromS: 20, ToS: 24}),
		NewConnectionCost(holding(), "k6", 0, runfile.Span{FromS: 2, ToS: 4}),
	} {
		assert.Nil(t, cost.MemoryKB)
		assert.Nil(t, cost.CPUUSPerS)
	}
}

// Regression: where the first reading came when all connections were open, they cost 0 KB.
func TestMemoryNeedsAReadingBeforeTheConnections(t *testing.T) {
	t.Parallel()
	cost := NewConnectionCost(holding(), "k6", 1000, runfile.Span{FromS: 0, ToS: 4})
	assert.Nil(t, cost.MemoryKB)
	assert.NotNil(t, cost.CPUUSPerS)
}

func TestTheChartOfConnectionsNeedsABrokerThatCountsThem(t *testing.T) {
	t.Parallel()
	r := golden(t, "connections")
	resource(t, r, "mosquitto").Figures = nil
	assert.Empty(t, connectionsTitle(r))
	resource(t, r, "mosquitto").Figures = &runfile.Figures{BinS: 1, T: []int{0},
		Gauges: map[string][]*float64{"clients": {new(897.0)}}}
	assert.Equal(t, "897 of 900 connections were held", connectionsTitle(r))
}

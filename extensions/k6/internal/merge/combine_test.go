package merge

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// emptyMerged merges two empty records, and returns the field that has no rule, or a wrong one.
func emptyMerged[T any]() error {
	return must.Try(func() { combined([]*T{new(T), new(T)}) })
}

func TestEachFieldOfARunHasARuleForMerging(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		emptyMerged[runfile.Run](), emptyMerged[runfile.Account](), emptyMerged[runfile.Clock](),
		emptyMerged[runfile.Health](), emptyMerged[runfile.Latencies](),
		emptyMerged[runfile.Canary](), emptyMerged[runfile.Step](), emptyMerged[runfile.FlowResult](),
		emptyMerged[runfile.Target](), emptyMerged[runfile.Others](),
		emptyMerged[runfile.Interval](),
	} {
		assert.NoError(t, err)
	}
	assert.ErrorContains(t, emptyMerged[struct{ Figure int }](), "Figure has no rule for merging")
	assert.ErrorContains(t, emptyMerged[struct {
		Figure string `merge:"sum"`
	}](), "Figure has a rule for merging that does not fit its type")
	assert.ErrorContains(t, emptyMerged[struct {
		Inner struct{ Figure int } `merge:"fields"`
	}](), "Figure has no rule")
}

func TestTheRulesForMerging(t *testing.T) {
	t.Parallel()
	type record struct {
		Sum      int            `merge:"sum"`
		Optional *int           `merge:"sum"`
		Max      *float64       `merge:"max"`
		Min      float64        `merge:"min"`
		Last     *float64       `merge:"last"`
		And      bool           `merge:"and"`
		First    *string        `merge:"first"`
		Own      map[string]int `merge:"own"`
	}
	one := record{Sum: 1, Optional: new(1), Max: new(2.0), Min: 2, Last: new(3.0), And: true, Own: map[string]int{}}
	two := record{Sum: 2, Optional: new(2), Min: -1, Last: new(1.0), First: new("x")}
	assert.Equal(t, &record{Sum: 3, Optional: new(3), Max: new(2.0), Min: -1, Last: new(3.0), First: new("x")},
		combined([]*record{&one, nil, &two}))
	two.Optional, two.Last = nil, nil
	whole := combined([]*record{&one, &two})
	assert.Nil(t, whole.Optional)
	assert.Nil(t, whole.Last, "one of them has not come so far")
	assert.Nil(t, combined([]*record{nil}))
}

// Regression: a generator whose pipeline stamps one message in ten counted ten times as much.
func TestStageMeansAreWeightedByTheDeliveriesWithStamps(t *testing.T) {
	t.Parallel()
	few := runfile.Interval{Arrived: 100, Stamped: 10, Stages: map[string]float64{"queue": 10}}
	all := runfile.Interval{Arrived: 30, Stamped: 30, Stages: map[string]float64{"queue": 2}}
	none := runfile.Interval{Arrived: 1000}
	of := func(rows ...*runfile.Interval) runfile.Interval { return second(0, rows, nil) }
	assert.Equal(t, map[string]float64{"queue": 4}, of(&few, &all, &none).Stages)
	assert.EqualValues(t, 40, of(&few, &all, &none).Stamped)

	flow := func(stamped int64, mean float64) *runfile.Run {
		return &runfile.Run{Flows: []runfile.FlowResult{{Stamped: stamped, Stages: map[string]float64{"queue": mean}}}}
	}
	assert.Equal(t, map[string]float64{"queue": 4}, flows([]*runfile.Run{flow(10, 10), flow(30, 2)})[0].Stages)
}

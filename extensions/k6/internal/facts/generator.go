package facts

import (
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// generatorCost is what the generator and its recorder used of their host.
func generatorCost(r *runfile.Run) runfile.GeneratorCost {
	own := slices.DeleteFunc(slices.Clone(r.Resources), func(one runfile.Resource) bool {
		return !generates(r, one.Process)
	})
	sum := func(figure func(runfile.Resource) *float64) *float64 {
		total := 0.0
		for _, one := range own {
			value := figure(one)
			if value == nil {
				return nil
			}
			total += *value
		}
		if len(own) == 0 {
			return nil
		}
		return &total
	}
	cost := runfile.GeneratorCost{
		MemoryMB: sum(func(one runfile.Resource) *float64 { return one.RSSMB.Max }),
	}
	percent := sum(func(one runfile.Resource) *float64 { return one.CPUPercent.Mean })
	if percent == nil || r.Account.Scheduled == 0 {
		return cost
	}
	seconds := 0.0
	for i := range r.Steps { // those that a killed run had reached
		seconds += r.Steps[i].DurationS
	}
	cost.CPUPerMessageUS = new(*percent / 100 * seconds * 1e6 / float64(r.Account.Scheduled))
	return cost
}

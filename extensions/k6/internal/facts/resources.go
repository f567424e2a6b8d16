package facts

import (
	"maps"
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// hostUse describes how busy the host was; nil: its figures are not known.
func hostUse(r *runfile.Run) *runfile.HostUse {
	figures := host(r)
	if figures == nil {
		return nil
	}
	idle, switches := present(figures.Gauges["id"]), present(figures.Gauges["cs"])
	use := &runfile.HostUse{
		IdleMeanPercent: meanOf(idle), IdleLeastPercent: extreme(idle, slices.Min),
		SwitchesMaxPerS: extreme(switches, slices.Max),
		Swapped:         swapped(figures),
	}
	if mean, worst, known := hypervisor(r, figures); known {
		use.StealMeanPercent, use.StealMaxPercent = &mean, &worst
	}
	return use
}

// hypervisor is how much of the pipeline's host its hypervisor took: the generator's figure where they share a host,
// and otherwise what that host reported. known is false where neither is there.
func hypervisor(r *runfile.Run, figures *runfile.Figures) (mean, worst float64, known bool) {
	if mean, worst, known = Steal(r); known && sharesHost(r) {
		return mean, worst, true
	}
	steal := present(figures.Gauges["st"])
	return meanOr0(steal), slices.Max(append(steal, 0)), len(steal) > 0
}

// swapped reports whether a host moved memory to a disk or from it.
func swapped(figures *runfile.Figures) bool {
	return slices.ContainsFunc(append(present(figures.Gauges["si"]), present(figures.Gauges["so"])...),
		func(v float64) bool { return v > 0 })
}

// resources are the processes that used most, and the totals of all figures.
func resources(r *runfile.Run) runfile.Resources {
	all := runfile.Resources{Totals: []runfile.Totals{}}
	for _, resource := range r.Resources {
		if resource.Process != "host" && len(resource.Series) > 0 { // beside the host's no process would be seen
			all.MostCPU = moreOf(all.MostCPU, resource.Process, resource.CPUPercent.Max)
			all.MostMemory = moreOf(all.MostMemory, resource.Process, resource.RSSMB.Max)
		}
		if resource.Figures == nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(resource.Figures.Counts)) {
			values := present(resource.Figures.Counts[name])
			sum := sumOf(values)
			all.Totals = append(all.Totals, runfile.Totals{Process: resource.Process, Name: name, Sum: &sum,
				Max: extreme(values, slices.Max)})
		}
		for _, name := range slices.Sorted(maps.Keys(resource.Figures.Gauges)) {
			values := present(resource.Figures.Gauges[name])
			all.Totals = append(all.Totals, runfile.Totals{Process: resource.Process, Name: name, Mean: meanOf(values),
				Max: extreme(values, slices.Max)})
		}
	}
	return all
}

func moreOf(most *runfile.Used, process string, used *float64) *runfile.Used {
	if used == nil || most != nil && *used <= most.Max {
		return most
	}
	return &runfile.Used{Process: process, Max: *used}
}

// meanOf is a mean; nil: there are no values.
func meanOf(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	return new(meanOr0(values))
}

// extreme is the least or the greatest of some values; nil: there are none.
func extreme(values []float64, of func([]float64) float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	return new(of(values))
}

// generatorCost is the part of the host that the generator and its recorder used.
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

package facts

import (
	"fmt"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// hostTile is the CPU of a host that generator and pipeline share and that had no core left for some seconds; nil:
// there is no such host.
func hostTile(r *runfile.Run) *runfile.Tile {
	seconds := measuredSeconds(r)
	var used []float64
	for _, s := range seconds {
		if host := s.Generator.HostPercent; host != nil {
			used = append(used, *host)
		}
	}
	from, to := longestStretch(len(seconds), 1, func(i int) (int, bool) {
		host := seconds[i].Generator.HostPercent
		return seconds[i].T, host != nil && *host >= Full
	})
	if !sharesHost(r) || from < 0 {
		return nil
	}
	mean := meanOr0(used)
	note := fmt.Sprintf("of generator and pipeline; full from %s to %s", moment(from), moment(to))
	if steal, _, known := Steal(r); known {
		note += fmt.Sprintf("; steal %s %% on average", words.MS(&steal))
	}
	return &runfile.Tile{Name: "Host CPU", Value: &mean, Unit: "% of all cores", Text: words.MS(&mean), Note: note,
		Estimator: "mean of the measured seconds", Samples: new(int64(len(used)))}
}

// busiestTile is the process that has the least of a core left; nil: no process reported.
func busiestTile(r *runfile.Run) *runfile.Tile {
	var most *runfile.Resource
	for i := range r.Resources {
		one := &r.Resources[i]
		if one.Process == "host" || one.CPUPercent.Max == nil {
			continue
		}
		if most == nil || *one.CPUPercent.Max > *most.CPUPercent.Max {
			most = one
		}
	}
	if most == nil {
		return nil
	}
	use := most.CPUPercent
	return &runfile.Tile{Name: "Busiest process", Value: use.Max, Unit: "% of a core", Text: words.MS(use.Max),
		Note:      fmt.Sprintf("%s, at most; %s %% on average", words.Short(most.Process), words.MS(use.Mean)),
		Estimator: "highest second"}
}

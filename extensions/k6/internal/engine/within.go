package engine

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// withins are the limits on how many deliveries arrive in time, by their metrics.
type withins struct {
	mu    sync.Mutex
	known map[string]within
}

type within struct {
	limit  time.Duration
	metric *metrics.Metric
}

func (w *withins) all() map[string]within {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.known)
}

// register makes the metric of a limit, once for all VUs. ok is false for other names.
func (w *withins) register(registry *metrics.Registry, name string) (metric string, ok bool, err error) {
	metric, limit, ok := runfile.WithinMetric(name)
	if !ok {
		return name, false, runfile.CheckWithin(name)
	}
	made, err := registry.NewMetric(metric, metrics.Gauge)
	if err != nil {
		return metric, true, fmt.Errorf("thresholds: %s: %w", name, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known[metric] = within{limit, made}
	return metric, true, nil
}

// thresholds translates the arrival.within(…) limits among a script's thresholds for k6. Each threshold is a list of
// expressions or of k6's objects.
func (w *withins) thresholds(registry *metrics.Registry, own map[string]any) (map[string]any, error) {
	all := map[string]any{}
	for name, value := range own {
		metric, ok, err := w.register(registry, name)
		if err == nil && ok {
			value, err = translated(name, value)
		}
		if err != nil {
			return nil, fmt.Errorf("thresholds: %w", err)
		}
		if _, twice := all[metric]; twice {
			return nil, fmt.Errorf("thresholds: %s and another name set the same limit; allowed: one list for both",
				name)
		}
		all[metric] = value
	}
	return all, nil
}

// translated is the list of a limit in k6's form.
func translated(name string, value any) ([]any, error) {
	list, isList := value.([]any)
	if !isList {
		return nil, fmt.Errorf("%s is not a list; allowed: ['>= 99.9%%'] or [{ threshold: "+
			"'>= 99.9%%', abortOnFail: true }]", name)
	}
	var all []any
	for _, one := range list {
		switch one := one.(type) {
		case string:
			source, err := runfile.WithinThreshold(name, one)
			if err != nil {
				return nil, err
			}
			all = append(all, source)
		case map[string]any:
			text, isText := one["threshold"].(string)
			if !isText {
				return nil, fmt.Errorf("%s has an object without the text threshold; allowed: { threshold: "+
					"'>= 99.9%%', abortOnFail: true }", name)
			}
			source, err := runfile.WithinThreshold(name, text)
			if err != nil {
				return nil, err
			}
			own := maps.Clone(one)
			own["threshold"] = source
			all = append(all, own)
		default:
			return nil, fmt.Errorf("%s has %v; allowed: a text like '>= 99.9%%', or { threshold: "+
				"'>= 99.9%%', abortOnFail: true }", name, one)
		}
	}
	return all, nil
}

func (w *withins) limits(registry *metrics.Registry, own map[string][]string) (map[string][]string, error) {
	all := map[string][]string{}
	for name, sources := range own {
		metric, ok, err := w.register(registry, name)
		if err != nil {
			return nil, err
		}
		for _, source := range sources {
			if ok {
				if source, err = runfile.WithinThreshold(name, source); err != nil {
					return nil, fmt.Errorf("limits: %w", err)
				}
			}
			all[metric] = append(all[metric], source)
		}
	}
	return all, nil
}

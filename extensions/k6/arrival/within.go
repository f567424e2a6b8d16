package arrival

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
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

// register makes the metric of a limit, once for all VUs; ok is false if a name is not that of such a limit.
func (w *withins) register(registry *metrics.Registry, name string) (metric string, ok bool, err error) {
	metric, limit, ok := report.WithinMetric(name)
	if !ok {
		return name, false, nil
	}
	made, err := registry.NewMetric(metric, metrics.Gauge)
	if err != nil {
		return metric, true, fmt.Errorf("thresholds: %s: %w", name, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known == nil {
		w.known = map[string]within{}
	}
	w.known[metric] = within{limit, made}
	return metric, true, nil
}

// thresholds turns the limits of an SLO among those of a script into those that k6 knows. Each is a list of expressions, or of k6's objects.
func (w *withins) thresholds(registry *metrics.Registry, own map[string]any) (map[string]any, error) {
	all := map[string]any{}
	for name, value := range own {
		metric, ok, err := w.register(registry, name)
		if err != nil {
			return nil, err
		}
		if list, isList := value.([]any); ok && isList {
			translated := make([]any, len(list))
			for i, one := range list {
				translated[i] = one
				if source, isText := one.(string); isText {
					translated[i] = report.WithinThreshold(source)
				}
			}
			value = translated
		}
		all[metric] = value
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
				source = report.WithinThreshold(source)
			}
			all[metric] = append(all[metric], source)
		}
	}
	return all, nil
}

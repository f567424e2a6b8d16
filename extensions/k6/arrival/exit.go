package arrival

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.k6.io/k6/v2/errext/exitcodes"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// errorOf returns the error that k6 itself will exit with; nil: none. data is that of k6's event.Exit, of an internal
// type: a struct with the field Error.
func errorOf(data any) error {
	if at := reflect.ValueOf(data); at.Kind() == reflect.Pointer && at.Elem().Kind() == reflect.Struct {
		if field := at.Elem().FieldByName("Error"); field.IsValid() {
			err, _ := field.Interface().(error)
			return err
		}
	}
	return nil
}

// conclude writes the last report if the script's summary did not: k6 calls none with --summary-mode=disabled, and a
// script may define none. It returns the code to exit with in place of k6; 0: k6's own. k6 knows its thresholds only,
// and accepts those on metrics without a sample: without a verdict that passes it must not exit with 0.
func (r *RootModule) conclude(failed error) int {
	r.mu.Lock()
	e := r.engine
	r.mu.Unlock()
	if e == nil {
		name := r.metrics.limited()
		if name == "" || failed != nil {
			return 0
		}
		r.logger.Error(words.Printable("there is a threshold on " + name +
			", and the script made no run: new Run(…) of k6/x/arrival measures it"))
		return int(exitcodes.ScriptAborted)
	}
	code, why := e.conclude(r, failed)
	if full := e.life.now().full; full != nil { // otherwise k6 would exit with 108, as if a script had ended the test
		r.logger.Error("the run was ended: " + words.Printable(full.Error()))
		return 1
	}
	if failed != nil { // k6 has its own reason
		return 0
	}
	if why != "" {
		r.logger.Error(why)
	}
	return int(code)
}

// limited returns the name of a metric that the script has a threshold on; empty: there is none. Without a sample k6
// takes a threshold as held.
func (m *runMetrics) limited() string {
	for _, metric := range slices.Concat([]*metrics.Metric{m.latency, m.p99}, slices.Collect(maps.Values(m.counters))) {
		of := func(s *metrics.Submetric) bool { return len(s.Metric.Thresholds.Thresholds) > 0 }
		if len(metric.Thresholds.Thresholds) > 0 || slices.ContainsFunc(metric.Submetrics, of) {
			return metric.Name
		}
	}
	return ""
}

// conclude returns the least exit code of the run, and why it is not 0; empty: that has been said. cause is why k6 ended
// the test; nil: it came to its end.
func (e *engine) conclude(r *RootModule, cause error) (code exitcodes.ExitCode, why string) {
	switch now := e.life.now(); {
	case !now.begun && !r.planned.Load(): // a function only looked at a run, as in a check of the module
		return 0, ""
	case !now.begun:
		return exitcodes.ScriptAborted, uncollected + remedy
	case now.dir == "":
		return exitcodes.ScriptAborted, "the run did not begin"
	}
	if cause != nil && !e.life.now().finished { // known only now
		e.life.change(func(p *progress) { p.cause = cause.Error() })
		r.concluded.Store(false)
	}
	if !r.concluded.Load() {
		if _, err := e.lastReport(r.registry); err != nil {
			r.logger.Error(words.Printable(err.Error()))
			return 1, ""
		}
	}
	switch now := e.life.now(); {
	case now.result == runfile.Pass:
		return 0, ""
	case now.finished:
		return exitcodes.MarkedAsFailed, "the verdict of the run is " + now.result
	}
	return exitcodes.ScriptAborted, "the run was cut off before its end"
}

const (
	uncollected = "the run did not begin, because no VU called run.collect()"
	remedy      = "; wanted: a scenario, like subscriber of run.scenarios(), whose function calls it. k6's -u, -d, " +
		"-i and -s replace the script's scenarios"
)

// uncollectedBy names the scenarios of k6, none of which has called run.collect().
func uncollectedBy(scenarios []string) error {
	return fmt.Errorf("%s (k6 runs %s)%s", uncollected, strings.Join(scenarios, ", "), remedy)
}

package arrival

import (
	"reflect"

	"go.k6.io/k6/v2/errext/exitcodes"

	"github.com/arrival-bench/arrival/extensions/k6/internal/engine"
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
		name := r.metrics.Limited()
		if name == "" || failed != nil {
			return 0
		}
		r.logger.Error(words.Printable("there is a threshold on " + name +
			", and the script made no run: new Run(…) of k6/x/arrival measures it"))
		return int(exitcodes.ScriptAborted)
	}
	return e.Conclude(engine.End{Planned: r.planned.Load(), Cause: failed, Metrics: r.registry, Log: r.logger})
}

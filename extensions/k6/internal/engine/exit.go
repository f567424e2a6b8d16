package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.k6.io/k6/v2/errext/exitcodes"
	"go.k6.io/k6/v2/metrics"

	"github.com/sirupsen/logrus"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// Limited returns the name of a metric that the script has a threshold on; empty: there is none. Without a sample k6
// takes a threshold as held.
func (m *Metrics) Limited() string {
	for _, metric := range slices.Concat([]*metrics.Metric{m.latency, m.p99}, slices.Collect(maps.Values(m.counters))) {
		of := func(s *metrics.Submetric) bool { return len(s.Metric.Thresholds.Thresholds) > 0 }
		if len(metric.Thresholds.Thresholds) > 0 || slices.ContainsFunc(metric.Submetrics, of) {
			return metric.Name
		}
	}
	return ""
}

// End is how k6's test ended.
type End struct {
	Planned bool              // the script made its run in the init context
	Cause   error             // why k6 ended the test; nil: it came to its end
	Metrics *metrics.Registry // the metrics of k6's results
	Log     logrus.FieldLogger
}

// Conclude writes the last report if the script's summary did not, and returns the code to exit with in place of k6; 0:
// k6's own.
func (e *Engine) Conclude(x End) int {
	code, why := e.exitCode(x)
	if full := e.life.now().full; full != nil { // otherwise k6 would exit with 108, as if a script had ended the test
		x.Log.Error("the run was ended: " + words.Printable(full.Error()))
		return 1
	}
	if x.Cause != nil { // k6 has its own reason
		return 0
	}
	if why != "" {
		x.Log.Error(why)
	}
	return int(code)
}

// exitCode returns the least exit code of the run, and why it is not 0; empty: that has been said.
func (e *Engine) exitCode(x End) (code exitcodes.ExitCode, why string) {
	switch now := e.life.now(); {
	case now.tried && !now.ended.IsZero():
		return notRound, ""
	case now.tried:
		return 0, ""
	case !now.begun && !x.Planned: // a function only looked at a run, as in a check of the module
		return 0, ""
	case !now.begun:
		return exitcodes.ScriptAborted, uncollected + remedy
	case e.dir.path() == "":
		return exitcodes.ScriptAborted, "the run did not begin"
	}
	if x.Cause != nil && !e.life.now().finished { // known only now
		e.life.change(func(p *progress) { p.cause, p.reported = x.Cause.Error(), false })
	}
	if !e.life.now().reported {
		if _, _, err := e.LastReport(x.Metrics); err != nil {
			x.Log.Error(words.Printable(err.Error()))
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

package arrival

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/render"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// write writes run.json, the page and the CI files atomically: a reader never finds a partial file.
func (e *engine) write() error { return e.save(e.report(e.lossless())) }

// lossless reports whether a report has the histograms: always for one of several instances, as the files of a killed
// instance are merged with the others.
func (e *engine) lossless() bool { return e.life.now().finished || !e.segment.Alone() }

// writeLatest writes the report of the run so far without its seconds, of which the timeline has so many.
func (e *engine) writeLatest(seconds int) error {
	noted, _ := e.noted()
	return runfile.SaveLatest(e.life.now().dir, e.describe(e.lossless(), []runfile.Interval{}), seconds, noted.answer)
}

func (e *engine) save(r *runfile.Run) error {
	noted, _ := e.noted()
	err := render.SaveWhole(e.life.now().dir, r, noted.answer)
	if err != nil {
		e.removePage()
	}
	return err
}

// removePage removes an outdated page after run.json could not be written.
func (e *engine) removePage() { _ = os.Remove(filepath.Join(e.life.now().dir, runfile.PageName)) }

// summary is run.summary, for handleSummary: it writes the last report and returns what k6 prints.
func (m *instance) summary(e *engine, data sobek.Value) map[string]any {
	if e.life.now().dir == "" {
		return map[string]any{"stdout": "\n  INCOMPLETE  the run did not begin; there is no report\n\n"}
	}
	if !e.judging.TestEnded() { // k6 still counts, so its thresholds cannot be judged
		common.Throw(m.vu.Runtime(), errors.New("run.summary() is for handleSummary, and the test is still running; "+
			"run.result() returns the run so far"))
	}
	r, err := e.lastReport(m.root.registry)
	where := e.reportPath()
	if err != nil {
		where = "none: " + err.Error()
	}
	m.root.concluded.Store(err == nil)
	return map[string]any{"stdout": render.Text(r, where, screen(m.vu.Runtime(), data))}
}

func (e *engine) lastReport(registry *metrics.Registry) (*runfile.Run, error) {
	e.judging.Conclude(registry, e.lasted())
	r := e.report(true)
	e.life.change(func(p *progress) { p.result = r.Verdict.Result })
	return r, e.save(r)
}

// reportPath is the path of the report, for the reader.
func (e *engine) reportPath() string { return Short(filepath.Join(e.life.now().dir, runfile.PageName)) }

// Short is a path relative to the working directory, where that is shorter.
func Short(path string) string {
	if wd, err := os.Getwd(); err == nil {
		if short, err := filepath.Rel(wd, path); err == nil && len(short) < len(path) {
			return short
		}
	}
	return path
}

// screen is what k6 prints the summary on, from the data of handleSummary.
func screen(rt *sobek.Runtime, v sobek.Value) render.Screen {
	var d struct {
		State struct {
			IsStdOutTTY bool `json:"isStdOutTTY"`
		} `json:"state"`
		Options struct {
			NoColor bool `json:"noColor"`
		} `json:"options"`
	}
	if v != nil && !sobek.IsUndefined(v) {
		if text, err := json.Marshal(v.ToObject(rt)); err == nil {
			_ = json.Unmarshal(text, &d) // fields that k6 does not pass stay unset
		}
	}
	return render.NewScreen(d.State.IsStdOutTTY, d.Options.NoColor)
}

// result is run.result(): run.json as it stands, as a JavaScript object. In handleSummary k6's metrics are final, and
// all limits are judged.
func (m *instance) result(e *engine) sobek.Value {
	rt := m.vu.Runtime()
	select {
	case <-e.Started:
	default:
		common.Throw(rt, errors.New("run.result() needs a run that has begun: call it after collect() has subscribed"))
	}
	if e.judging.TestEnded() {
		e.judging.Conclude(m.root.registry, e.lasted())
	}
	return m.asObject(e.report(false))
}

func (m *instance) connections(e *engine) sobek.Value {
	e.mu.Lock()
	defer e.mu.Unlock()
	return m.asObject(runfile.NewLatency(&e.connects, false))
}

func (m *instance) asObject(v any) sobek.Value {
	rt := m.vu.Runtime()
	text, err := json.Marshal(v)
	if err != nil {
		common.Throw(rt, err)
	}
	parse, _ := sobek.AssertFunction(rt.Get("JSON").ToObject(rt).Get("parse"))
	value, err := parse(sobek.Undefined(), rt.ToValue(string(text)))
	if err != nil {
		common.Throw(rt, err)
	}
	return value
}

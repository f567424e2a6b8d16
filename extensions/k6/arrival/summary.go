package arrival

import (
	"encoding/json"
	"errors"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/common"

	"github.com/arrival-bench/arrival/extensions/k6/internal/engine"
	"github.com/arrival-bench/arrival/extensions/k6/internal/render"
)

// summary is run.summary, for handleSummary: it writes the last report and returns what k6 prints.
func (m *instance) summary(e *engine.Engine, data sobek.Value) map[string]any {
	if e.Directory() == "" {
		return map[string]any{"stdout": "\n  INCOMPLETE  the run did not begin; there is no report\n\n"}
	}
	if !e.TestEnded() { // k6 still counts, so its thresholds cannot be judged
		common.Throw(m.vu.Runtime(), errors.New("run.summary() is for handleSummary, and the test is still running; "+
			"run.result() returns the run so far"))
	}
	r, where, err := e.LastReport(m.root.registry)
	on := screen(m.vu.Runtime(), data)
	if where = on.Link(where); err != nil {
		where = "none: " + err.Error()
	}
	return map[string]any{"stdout": render.Text(r, where, on)}
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
func (m *instance) result(e *engine.Engine) sobek.Value {
	rt := m.vu.Runtime()
	select {
	case <-e.Started:
	default:
		common.Throw(rt, errors.New("run.result() needs a run that has begun: call it after collect() has subscribed"))
	}
	return m.asObject(e.Result(m.root.registry))
}

func (m *instance) connections(e *engine.Engine) sobek.Value { return m.asObject(e.Connections()) }

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

package arrival

import (
	"encoding/json"
	"errors"
	"math"
	"slices"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/common"

	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// result is run.result(): run.json as it stands, as a JavaScript object.
func (m *instance) result(e *engine) sobek.Value {
	rt := m.vu.Runtime()
	select {
	case <-e.started:
	default:
		common.Throw(rt, errors.New("run.result() is for a run that has begun: before collect() has subscribed there is none"))
	}
	text, err := json.Marshal(e.report(false))
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

// figure is run.figure(name, value, unit): what the script says beyond what every run says. A second one of a name replaces the first.
func (e *engine) figure(name string, value float64, unit string) {
	f := report.Figure{Name: name, Unit: unit}
	if !math.IsNaN(value) && !math.IsInf(value, 0) {
		f.Value = &value
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if i := slices.IndexFunc(e.figures, func(o report.Figure) bool { return o.Name == name }); i >= 0 {
		e.figures[i] = f
		return
	}
	e.figures = append(e.figures, f)
}

func (e *engine) figuresNow() []report.Figure {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]report.Figure{}, e.figures...)
}

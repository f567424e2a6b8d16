package arrival

import (
	"encoding/json"
	"errors"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/common"
)

// result is run.result(): run.json as it stands, as a JavaScript object.
func (m *instance) result(e *engine) sobek.Value {
	rt := m.vu.Runtime()
	select {
	case <-e.Started:
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

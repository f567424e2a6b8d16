package arrival

import (
	"errors"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/common"

	"github.com/arrival-bench/arrival/extensions/k6/internal/engine"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive/webhook"
)

// webhook is run.webhook: its url is known from the options, or when the run listens.
func (m *instance) webhook(rt *sobek.Runtime, e *engine.Engine, o *webhook.Options) *sobek.Object {
	of := rt.NewObject()
	url := func(sobek.FunctionCall) sobek.Value {
		if l, ok := e.Receiver().(receive.CallbackReceiver); ok {
			return rt.ToValue(l.URL())
		}
		if known := o.Known(); known != "" {
			return rt.ToValue(known)
		}
		common.Throw(rt, errors.New("run.webhook.url is not known before the run listens, "+
			"since webhook.address has the port 0: use it after run.next(), or set a port"))
		return nil
	}
	err := of.DefineAccessorProperty("url", rt.ToValue(url), nil, sobek.FLAG_FALSE, sobek.FLAG_TRUE)
	if err != nil {
		common.Throw(rt, err)
	}
	return of
}

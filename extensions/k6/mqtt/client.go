package mqtt

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/metrics"
)

// client is the Go side of one Client object. Only the event loop uses its fields; other goroutines use links and the
// loop's post.
type client struct {
	vu   modules.VU
	rt   *sobek.Runtime
	in   *instruments
	loop *loop

	options  *clientOptions
	handlers map[string]sobek.Callable

	link        *link           // nil unless connected, connecting again or ending
	ended       bool            // the end event has fired since the last connect
	connect     *connectOptions // the options of the last connect(); nil before it
	session     *session        // since the last connect()
	url         string          // the server's address as a tag
	connectTags map[string]string
	tagCache    map[tagKey]*metrics.TagSet

	handlingError   bool
	handlingMessage bool
	endAfterMessage *link // end() was called by the message handler while more messages waited
}

// newClient is the constructor `new Client(options)`. It does no I/O, so the init context is fine.
func newClient(vu modules.VU, in *instruments, call sobek.ConstructorCall) *sobek.Object {
	c := &client{
		vu: vu, rt: vu.Runtime(), in: in, loop: &loop{vu: vu},
		handlers: make(map[string]sobek.Callable),
		tagCache: make(map[tagKey]*metrics.TagSet),
	}
	c.options = readClientOptions(c.args("new Client"), call.Argument(0))
	for name, method := range map[string]func(sobek.FunctionCall) sobek.Value{
		"connect":   c.connectCall,
		"reconnect": c.reconnectCall,
		"end":       c.endCall,
		"endAsync":  c.endAsyncCall,
		"on":        c.onCall,
	} {
		define(call.This, name, c.rt.ToValue(method))
	}
	for name, read := range map[string]func(args, sobek.FunctionCall) *request{
		"subscribe": c.subscribe, "unsubscribe": c.unsubscribe, "publish": c.publish,
	} {
		define(call.This, name, c.rt.ToValue(func(call sobek.FunctionCall) sobek.Value {
			return c.run(read(c.args("client."+name), call))
		}))
		define(call.This, name+"Async", c.rt.ToValue(func(call sobek.FunctionCall) sobek.Value {
			return c.runAsync(func() *request { return read(c.args("client."+name+"Async"), call) })
		}))
	}
	connected := c.rt.ToValue(func(sobek.FunctionCall) sobek.Value { return c.rt.ToValue(c.connected()) })
	must(call.This.DefineAccessorProperty("connected", connected, nil, sobek.FLAG_FALSE, sobek.FLAG_TRUE))
	return nil
}

func (c *client) connected() bool {
	return c.link != nil && !c.link.closing && c.link.open()
}

func (c *client) args(call string) args {
	return args{rt: c.rt, call: call, warn: c.logger().Warnf}
}

func (c *client) logger() logrus.FieldLogger {
	if state := c.vu.State(); state != nil {
		return state.Logger
	}
	return c.vu.InitEnv().Logger
}

func (c *client) countError(method string) {
	c.push(time.Now(), method, "", nil, measure{c.in.errors, 1})
}

func define(object *sobek.Object, name string, value sobek.Value) {
	must(object.DefineDataProperty(name, value, sobek.FLAG_TRUE, sobek.FLAG_TRUE, sobek.FLAG_TRUE))
}

// must panics on the error of a definition. It cannot happen: the objects are created here, and are not frozen.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// RootModule is k6/x/mqtt; k6 asks it for one instance per VU.
type RootModule struct{}

var _ modules.Module = &RootModule{}

// New returns the module to register as k6/x/mqtt.
func New() *RootModule { return &RootModule{} }

func (*RootModule) NewModuleInstance(vu modules.VU) modules.Instance {
	instruments, err := registerMetrics(vu.InitEnv().Registry)
	if err != nil {
		common.Throw(vu.Runtime(), err)
	}
	constructor := vu.Runtime().ToValue(func(call sobek.ConstructorCall) *sobek.Object {
		return newClient(vu, instruments, call)
	})
	exported := map[string]any{"Client": constructor}
	// Built once: k6 asks for the exports at each use of a named import.
	return &instance{modules.Exports{Default: exported, Named: exported}}
}

type instance struct{ exports modules.Exports }

// Exports implements modules.Instance: Client, as a named export and as a member of the default export.
func (i *instance) Exports() modules.Exports { return i.exports }

const (
	eventConnect   = "connect"
	eventMessage   = "message"
	eventEnd       = "end"
	eventReconnect = "reconnect"
	eventError     = "error"
)

var events = []string{eventConnect, eventMessage, eventEnd, eventReconnect, eventError}

// onCall is client.on(event, handler).
func (c *client) onCall(call sobek.FunctionCall) sobek.Value {
	a := c.args("client.on")
	event := a.text(call.Argument(0), "event")
	handler := a.function(call.Argument(1), "handler")
	if !slices.Contains(events, event) {
		a.warn("client.on: there is no event %q, the handler will not run; events are %s",
			event, strings.Join(events, ", "))
		return sobek.Undefined()
	}
	if c.handlers[event] != nil {
		a.warn("client.on: replacing the handler of %q: a client has one an event", event)
	}
	c.handlers[event] = handler
	return sobek.Undefined()
}

// emit calls the handler of an event, if there is one. Event loop only.
func (c *client) emit(event string, values ...sobek.Value) error {
	handler := c.handlers[event]
	if handler == nil || c.vu.Context().Err() != nil {
		return nil
	}
	_, err := handler(sobek.Undefined(), values...)
	return err
}

// message calls the script's message handler.
func (c *client) message(l *link, m *incoming) error {
	if l.ctx.Err() != nil {
		l.undelivered++
		return nil
	}
	c.push(m.received, "message", m.topic, nil,
		measure{c.in.calls, 1},
		measure{c.in.received, 1},
		measure{c.vu.State().BuiltinMetrics.DataReceived, float64(len(m.payload))})
	if c.handlers[eventMessage] == nil {
		return nil
	}
	c.handlingMessage = true
	err := c.emit(eventMessage,
		c.rt.ToValue(m.topic), c.rt.ToValue(c.rt.NewArrayBuffer(m.payload)), c.arrival(m))
	c.handlingMessage = false
	if ending := c.endAfterMessage; ending != nil {
		c.endAfterMessage = nil
		err = cmp.Or(err, c.finishAfter(ending, true, true))
	}
	return err
}

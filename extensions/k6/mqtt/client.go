package mqtt

import (
	"time"

	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus"
	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/metrics"
)

// client is the Go side of one Client object. Its fields belong to the event loop; goroutines see only links and the
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
	connect     *connectOptions // of the last connect(), nil before it
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

// must is for definitions on objects created here, which cannot be frozen.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

package mqtt

import (
	"fmt"
	"strings"
	"time"

	"github.com/grafana/sobek"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqttwire"
)

// userProperties reads the option properties, { user: { key: value | [value, …] } }, which needs MQTT 5, into a packet's bytes.
func (o options) userProperties(version int) (user []byte) {
	value, name, ok := o.get("properties")
	if !ok {
		return nil
	}
	if version != mqtt5 {
		panic(o.rt.NewTypeError("%s: %s needs MQTT 5: set protocol_version: 5 in new Client({…})", o.call, name))
	}
	properties := o.args.options(value, name, "user")
	object, name, ok := properties.get("user")
	if !ok {
		return nil
	}
	all, isObject := object.(*sobek.Object)
	if !isObject || all.ClassName() != "Object" {
		o.wrong(name, "an object", object)
	}
	for _, key := range all.Keys() {
		of := name + "." + key
		for _, text := range o.texts(all.Get(key), of) {
			o.checkPropertyText(of, text)
			user = mqttwire.AppendUserProperty(user, key, text)
		}
		o.checkPropertyText("the name of "+of, key)
	}
	return user
}

// checkPropertyText checks a string: MQTT 5, 1.5.4, and [MQTT-1.5.4-2].
func (a args) checkPropertyText(name, text string) {
	var wrong string
	switch {
	case len(text) > mqttwire.MaxField:
		wrong = fmt.Sprintf("has %d bytes: %d are allowed", len(text), mqttwire.MaxField)
	case strings.ContainsRune(text, 0):
		wrong = "has a NUL character"
	default:
		return
	}
	if len(name) > 100 {
		name = name[:100] + "…"
	}
	panic(a.rt.NewTypeError("%s: %s %s", a.call, name, wrong))
}

// arrival is the message handler's third argument: { received, properties }; the latter only with MQTT 5.
func (c *client) arrival(m *incoming) sobek.Value {
	arrival := c.rt.NewObject()
	define(arrival, "received", c.rt.ToValue(milliseconds(m.received)))
	if c.options.version == mqtt5 {
		properties := c.rt.NewObject()
		define(properties, "user", c.userObject(m.user))
		define(arrival, "properties", properties)
	}
	return arrival
}

// userObject has a member for each key: its value or, when the message repeats the key, an array of them.
func (c *client) userObject(user []mqttwire.UserProperty) *sobek.Object {
	values := make(map[string][]any, len(user))
	for _, p := range user {
		values[string(p.Key)] = append(values[string(p.Key)], string(p.Value))
	}
	object := c.rt.NewObject()
	for _, p := range user { // in the order of the message
		key := string(p.Key)
		switch all := values[key]; len(all) {
		case 0: // done with the first of this key
		case 1:
			define(object, key, c.rt.ToValue(all[0]))
		default:
			define(object, key, c.rt.NewArray(all...))
		}
		delete(values, key)
	}
	return object
}

// milliseconds since 1970, as Date has them, with a fraction.
func milliseconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1000 }

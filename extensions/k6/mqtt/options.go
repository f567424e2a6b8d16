package mqtt

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/common"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqtt"
)

// clientOptions are the options of `new Client`.
type clientOptions struct {
	version                      int // mqtt311 or mqtt5
	clientID, username, password string
	credentials                  sobek.Callable // nil unless credentials_provider was given
	will                         *mqtt.Publish  // nil without one
	tags                         map[string]string
	tagTopic                     bool
}

const (
	mqtt311 = mqtt.Version311
	mqtt5   = mqtt.Version5
)

func readClientOptions(a args, v sobek.Value) *clientOptions {
	o := a.options(v, "options",
		"client_id", "username", "password", "credentials_provider", "will", "protocol_version", "tags", "tag_topic")
	read := &clientOptions{
		version:  int(o.integer("protocol_version", mqtt311, mqtt311, mqtt5, "4 (MQTT 3.1.1) or 5")),
		clientID: o.text("client_id"),
		username: o.text("username"),
		password: o.text("password"),
		tags:     o.tags(),
		tagTopic: o.boolean("tag_topic", false),
	}
	if provider, name, ok := o.get("credentials_provider"); ok {
		read.credentials = a.function(provider, name)
	}
	if value, name, ok := o.get("will"); ok {
		w := a.options(value, name, "topic", "payload", "qos", "retain", "properties")
		value, topicName, _ := w.get("topic")
		topic := a.text(value, topicName)
		read.will = &mqtt.Publish{
			Topic: []byte(topic), QoS: w.qos(), Retain: w.boolean("retain", false),
			Properties: w.userProperties(read.version),
		}
		if payload, payloadName, given := w.get("payload"); given {
			read.will.Payload = a.payload(payload, payloadName)
			if err := checkLength(payloadName, len(read.will.Payload)); err != nil { // 3.1.3.3
				panic(a.rt.NewTypeError("%s: %s", a.call, err))
			}
		}
		if err := checkTopic(topic); err != nil {
			panic(a.rt.NewTypeError("%s: %s: %s", a.call, topicName, err))
		}
	}
	return read
}

// connectOptions are the options of connect().
type connectOptions struct {
	servers        []*server
	keepalive      uint16        // s; 0 is off
	timeout        time.Duration // of the attempt at each server
	requestTimeout time.Duration // of each call
	cleanSession   bool
	tags           map[string]string
}

// readConnectOptions reads connect(url, options) and connect(options); a url goes before options.servers.
func readConnectOptions(a args, first, second sobek.Value) *connectOptions {
	var addresses []string
	names := []string{"url"}
	if kind(first) == reflect.String {
		addresses = append(addresses, first.String())
	} else {
		if _, isObject := first.(*sobek.Object); !isObject {
			a.wrong("url", "a string, or an object with servers", first)
		}
		names = nil
		second = first
	}
	o := a.options(second, "options",
		"servers", "keepalive", "connect_timeout", "request_timeout", "clean_session", "tags")
	if list, name, ok := o.get("servers"); ok {
		for i, address := range a.texts(list, name) {
			addresses = append(addresses, address)
			names = append(names, fmt.Sprintf("%s[%d]", name, i))
		}
	} else if addresses == nil {
		a.wrong("options.servers", "an array of broker addresses when there is no url", nil)
	}
	read := &connectOptions{
		keepalive:      uint16(o.integer("keepalive", 60, 0, 65535, "a whole number of seconds from 0 (off) to 65535")),
		timeout:        o.milliseconds("connect_timeout"),
		requestTimeout: o.milliseconds("request_timeout"),
		cleanSession:   o.boolean("clean_session", true),
		tags:           o.tags(),
	}
	for i, address := range addresses {
		s, err := parseServer(address)
		if err != nil {
			panic(a.rt.NewTypeError("%s: %s: %s", a.call, names[i], err))
		}
		read.servers = append(read.servers, s)
	}
	return read
}

// credentials returns the user name and password to connect with, asking credentials_provider when there is one.
func (c *client) credentials(a args) (username, password string) {
	if c.options.credentials == nil {
		return c.options.username, c.options.password
	}
	value, err := c.options.credentials(sobek.Undefined())
	c.settled(err)
	const name = "the value credentials_provider returns"
	if common.IsNullish(value) {
		a.wrong(name, "an object {username, password}", value)
	}
	o := a.options(value, name, "username", "password")
	return o.text("username"), o.text("password")
}

// checkLength checks a field of CONNECT: its length has two bytes.
func checkLength(name string, bytes int) error {
	if bytes > mqtt.MaxField {
		return fmt.Errorf("%s has %d bytes: %d are allowed", name, bytes, mqtt.MaxField)
	}
	return nil
}

// checkTopic checks a topic to publish to: [MQTT-4.7.3-1], [MQTT-4.7.3-2], [MQTT-3.3.2-2].
func checkTopic(topic string) error {
	if err := checkTopicText(topic); err != nil {
		return err
	}
	if strings.ContainsAny(topic, "+#") {
		return fmt.Errorf("the topic %q has a wildcard: + and # are for subscribe", topic)
	}
	return nil
}

// checkFilter checks a topic filter: [MQTT-4.7.1-2], [MQTT-4.7.1-3].
func checkFilter(filter string) error {
	if err := checkTopicText(filter); err != nil {
		return err
	}
	levels := strings.Split(filter, "/")
	for i, level := range levels {
		if strings.Contains(level, "#") && (level != "#" || i != len(levels)-1) {
			return fmt.Errorf("the topic filter %q is wrong: # has to be the whole last level", filter)
		}
		if strings.Contains(level, "+") && level != "+" {
			return fmt.Errorf("the topic filter %q is wrong: + has to be a whole level", filter)
		}
	}
	return nil
}

func checkTopicText(topic string) error {
	switch {
	case topic == "":
		return errors.New("the topic is empty")
	case len(topic) > mqtt.MaxField:
		return fmt.Errorf("the topic has %d bytes: %d are allowed", len(topic), mqtt.MaxField)
	case strings.ContainsRune(topic, 0):
		return fmt.Errorf("the topic %q has a NUL character", topic)
	}
	return nil
}

// userProperties encodes the option properties, { user: { key: value | [value, …] } }. It needs MQTT 5.
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
			user = mqtt.AppendUserProperty(user, key, text)
		}
		o.checkPropertyText("the name of "+of, key)
	}
	return user
}

// checkPropertyText checks a string: MQTT 5, 1.5.4, and [MQTT-1.5.4-2].
func (a args) checkPropertyText(name, text string) {
	var wrong string
	switch {
	case len(text) > mqtt.MaxField:
		wrong = fmt.Sprintf("has %d bytes: %d are allowed", len(text), mqtt.MaxField)
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
func (c *client) userObject(user []mqtt.UserProperty) *sobek.Object {
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

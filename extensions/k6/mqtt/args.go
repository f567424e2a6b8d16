package mqtt

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/common"
)

// args reads the arguments of one call and throws a TypeError that names the argument and what it has to be.
type args struct {
	rt   *sobek.Runtime
	call string // the call as a script writes it: "client.publish"
	warn func(format string, values ...any)
}

func (a args) wrong(name, expected string, got sobek.Value) {
	panic(a.rt.NewTypeError("%s: %s must be %s, got %s", a.call, name, expected, describe(got)))
}

func (a args) text(v sobek.Value, name string) string {
	if kind(v) != reflect.String {
		a.wrong(name, "a string", v)
	}
	return v.String()
}

func (a args) function(v sobek.Value, name string) sobek.Callable {
	fn, ok := sobek.AssertFunction(v)
	if !ok {
		a.wrong(name, "a function", v)
	}
	return fn
}

// texts reads a string or an array of strings, at least one.
func (a args) texts(v sobek.Value, name string) []string {
	if kind(v) == reflect.String {
		return []string{v.String()}
	}
	array, ok := v.(*sobek.Object)
	if !ok || array.ClassName() != "Array" || array.Get("length").ToInteger() == 0 {
		a.wrong(name, "a string or a non-empty array of strings", v)
	}
	var list []string // grows: an array may say that it has billions
	for i := range array.Get("length").ToInteger() {
		list = append(list, a.text(array.Get(fmt.Sprint(i)), fmt.Sprintf("%s[%d]", name, i)))
	}
	return list
}

// payload reads a string, an ArrayBuffer or a Uint8Array. The bytes are a copy: they outlive the call.
func (a args) payload(v sobek.Value, name string) []byte {
	if v != nil {
		switch data := v.Export().(type) {
		case string:
			return []byte(data)
		case sobek.ArrayBuffer:
			if !data.Detached() {
				return slices.Clone(data.Bytes())
			}
		case []byte:
			return slices.Clone(data)
		}
	}
	a.wrong(name, "a string, an ArrayBuffer or a Uint8Array", v)
	return nil
}

// options is an object argument whose members are all optional; its readers return the fallback for absent ones.
type options struct {
	args
	name   string
	object *sobek.Object // nil when the argument is absent
}

// options reads an object; unknown members get a warning, since a misspelt one would do nothing.
func (a args) options(v sobek.Value, name string, known ...string) options {
	o := options{args: a, name: name}
	if common.IsNullish(v) {
		return o
	}
	object, ok := v.(*sobek.Object)
	if !ok || object.ClassName() != "Object" {
		a.wrong(name, "an object", v)
	}
	o.object = object
	for _, key := range object.Keys() {
		if !slices.Contains(known, key) {
			a.warn("%s: %s.%s is unknown and has no effect; known are %s", a.call, name, key, strings.Join(known, ", "))
		}
	}
	return o
}

func (o options) get(key string) (value sobek.Value, name string, ok bool) {
	name = o.name + "." + key
	if o.object == nil {
		return nil, name, false
	}
	value = o.object.Get(key)
	return value, name, !common.IsNullish(value)
}

func (o options) text(key string) string {
	if v, name, ok := o.get(key); ok {
		return o.args.text(v, name)
	}
	return ""
}

func (o options) boolean(key string, fallback bool) bool {
	v, name, ok := o.get(key)
	if !ok {
		return fallback
	}
	if kind(v) != reflect.Bool {
		o.wrong(name, "true or false", v)
	}
	return v.ToBoolean()
}

func (o options) integer(key string, fallback, lowest, highest int64, expected string) int64 {
	v, name, ok := o.get(key)
	if !ok {
		return fallback
	}
	number := math.NaN()
	if k := kind(v); k == reflect.Int64 || k == reflect.Float64 {
		number = v.ToFloat()
	}
	if number != math.Trunc(number) || number < float64(lowest) || number > float64(highest) {
		o.wrong(name, expected, v)
	}
	return int64(number)
}

// milliseconds is a time-out, of 30 s unless given.
func (o options) milliseconds(key string) time.Duration {
	ms := o.integer(key, 30_000, 1, 86_400_000, "a whole number of milliseconds, at least 1")
	return time.Millisecond * time.Duration(ms)
}

// qos is 0 unless given.
func (o options) qos() byte {
	return byte(o.integer("qos", 0, 0, 2, "0, 1 or 2"))
}

// tags reads metric tags: an object whose values are strings, numbers or booleans.
func (o options) tags() map[string]string {
	v, name, ok := o.get("tags")
	if !ok {
		return nil
	}
	object, isObject := v.(*sobek.Object)
	if !isObject || object.ClassName() != "Object" {
		o.wrong(name, "an object", v)
	}
	tags := make(map[string]string)
	for _, key := range object.Keys() {
		value := object.Get(key)
		switch kind(value) {
		case reflect.String, reflect.Bool, reflect.Int64, reflect.Float64:
			tags[key] = value.String()
		default:
			o.wrong(name+"."+key, "a string, a number or a boolean", value)
		}
	}
	return tags
}

func kind(v sobek.Value) reflect.Kind {
	if common.IsNullish(v) {
		return reflect.Invalid
	}
	if _, isObject := v.(*sobek.Object); isObject {
		return reflect.Struct
	}
	if t := v.ExportType(); t != nil {
		return t.Kind()
	}
	return reflect.Invalid
}

// describe names a value the way a script author would: its type and, for primitives, the value.
func describe(v sobek.Value) string {
	if v == nil || sobek.IsUndefined(v) {
		return "undefined"
	}
	if sobek.IsNull(v) {
		return "null"
	}
	if object, ok := v.(*sobek.Object); ok {
		switch class := object.ClassName(); class {
		case "Object", "Array", "Function", "Promise", "ArrayBuffer":
			return class
		default:
			return "an object of class " + class
		}
	}
	switch kind(v) {
	case reflect.String:
		text := v.String()
		if len(text) > 40 {
			text = text[:40] + "…"
		}
		return fmt.Sprintf("the string %q", text)
	case reflect.Int64, reflect.Float64:
		return "the number " + v.String()
	case reflect.Bool:
		return v.String()
	}
	return "a " + fmt.Sprint(v.ExportType())
}

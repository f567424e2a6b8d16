package fuzz

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
)

// reader reads the JSON form, token by token, since errors tell where something stands and keys keep their order.
type reader struct {
	*json.Decoder
	text   string
	fields int
}

func parseJSON(text string) ([]field, error) {
	// The decoder's tokens do not say exactly where JSON is broken; the parser of the whole does.
	var whole any
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		return nil, broken(err, text)
	}
	r := &reader{Decoder: json.NewDecoder(strings.NewReader(text)), text: text}
	r.UseNumber()
	if _, err := r.Token(); err != nil { // the {
		return nil, r.broken(err)
	}
	fields, err := r.object(1)
	if err != nil {
		return nil, err
	}
	return fields, nil
}

// place is where the last token begins, as nearly as the decoder tells.
func (r *reader) place() int {
	end := int(r.InputOffset())
	before := strings.TrimRight(r.text[:min(end, len(r.text))], " \t\r\n")
	if i := strings.LastIndexAny(before, "{[,:"); i >= 0 && i < len(before)-1 {
		return i + 1 + len(before[i+1:]) - len(strings.TrimLeft(before[i+1:], " \t\r\n"))
	}
	return max(0, len(before)-1)
}

func (r *reader) broken(err error) error { return broken(err, r.text) }

func broken(err error, text string) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && int(syntax.Offset) < len(text) {
		return at(int(syntax.Offset)-1, "not JSON: %s", syntax)
	}
	return at(len(text), "not JSON: it ends too early")
}

// object reads the fields of an object whose { has been read.
func (r *reader) object(depth int) ([]field, error) {
	if depth > mostDepth {
		return nil, at(r.place(), "more than %d objects in each other", mostDepth)
	}
	var fields []field
	seen := map[string]bool{}
	for r.More() {
		token, err := r.Token()
		if err != nil {
			return nil, r.broken(err)
		}
		key, _ := token.(string)
		if seen[key] {
			return nil, at(r.place(), "the key %q stands twice", key)
		}
		seen[key] = true
		if r.fields++; r.fields > mostFields {
			return nil, at(r.place(), "more than %d fields", mostFields)
		}
		f, err := r.field(key, depth)
		if err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
	if _, err := r.Token(); err != nil { // the }
		return nil, r.broken(err)
	}
	return fields, nil
}

// field reads what stands behind a key.
func (r *reader) field(key string, depth int) (field, error) {
	token, err := r.Token()
	if err != nil {
		return field{}, r.broken(err)
	}
	switch token := token.(type) {
	case string:
		f, ok := newField(key, token)
		if !ok {
			return f, at(r.place(), "type %q is not known; allowed: %s, a list of values, or an object with \"type\"", token, kinds)
		}
		return f, nil
	case json.Delim:
		if token == '[' {
			return r.choice(key)
		}
		return r.described(key, depth)
	default:
		return field{}, at(r.place(), "%v is no type; allowed: %s, a list of values, or an object with \"type\"", token, kinds)
	}
}

// choice reads a list of allowed values whose [ has been read.
func (r *reader) choice(key string) (field, error) {
	quoted, _ := json.Marshal(key)
	f := field{key: append(quoted, ':')}
	for r.More() {
		var value json.RawMessage
		if err := r.Decode(&value); err != nil {
			return f, r.broken(err)
		}
		compact := &bytes.Buffer{}
		_ = json.Compact(compact, value) // it was decoded
		f.allowed = append(f.allowed, compact.Bytes())
	}
	if _, err := r.Token(); err != nil {
		return f, r.broken(err)
	}
	if len(f.allowed) == 0 {
		return f, at(r.place(), "the list of values of %q is empty", key)
	}
	return f, nil
}

// described reads an object that says what values are like, whose { has been read.
func (r *reader) described(key string, depth int) (field, error) {
	start := r.place()
	kind, bounds := "", map[string][2]float64{}
	var children []field
	var f field
	for r.More() {
		token, err := r.Token()
		if err != nil {
			return f, r.broken(err)
		}
		name, _ := token.(string)
		here := r.place()
		switch name {
		case "type":
			if err := r.Decode(&kind); err != nil {
				return f, at(here, "the type of %q is no text; allowed: %s, object", key, kinds)
			}
		case "range", "length":
			var pair []float64
			if err := r.Decode(&pair); err != nil || len(pair) != 2 || pair[0] > pair[1] || math.Abs(pair[0]) > 1<<53 || math.Abs(pair[1]) > 1<<53 {
				return f, at(here, "%s of %q is not [lowest, highest]", name, key)
			}
			bounds[name] = [2]float64{pair[0], pair[1]}
		case "enum":
			if token, err := r.Token(); err != nil || token != json.Delim('[') {
				return f, at(here, "enum of %q is no list of values", key)
			}
			if f, err = r.choice(key); err != nil {
				return f, err
			}
		case "fields":
			if token, err := r.Token(); err != nil || token != json.Delim('{') {
				return f, at(here, "fields of %q is no object", key)
			}
			if children, err = r.object(depth + 1); err != nil {
				return f, err
			}
		default:
			return f, at(here, "%q is not known; allowed: type, range (int, float), length (string), enum, fields (object)", name)
		}
	}
	if _, err := r.Token(); err != nil {
		return f, r.broken(err)
	}
	if f.allowed != nil {
		return f, nil
	}
	if kind == kindObject {
		if len(children) == 0 {
			return f, at(start, "%q is an object without fields", key)
		}
		quoted, _ := json.Marshal(key)
		return field{key: append(quoted, ':'), kind: kindObject, children: children}, nil
	}
	f, ok := newField(key, kind)
	if !ok {
		return f, at(start, "type %q of %q is not known; allowed: %s, object", kind, key, kinds)
	}
	for name, b := range bounds {
		switch {
		case name == "length" && f.kind != kindString, name == "range" && f.kind != kindInt && f.kind != kindFloat:
			return f, at(start, "%s does not belong to the type %s of %q", name, f.kind, key)
		case name == "length" && (b[0] < 0 || b[1] > mostLength):
			return f, at(start, "length of %q is outside 0 to %d", key, mostLength)
		}
		f.low, f.high = b[0], b[1]
	}
	if f.kind == kindInt && math.Ceil(f.low) > math.Floor(f.high) {
		return f, at(start, "range of %q holds no whole number", key)
	}
	return f, nil
}

package fuzz

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
)

// reader reads the JSON form, token by token, since errors tell where something stands and keys keep their order.
type reader struct {
	*json.Decoder
	text   string
	start  int // of the last token
	fields int
}

func parseJSON(text string) ([]field, error) {
	// The decoder's tokens do not say exactly where JSON is broken; the parser of the whole does.
	var whole json.RawMessage
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		return nil, broken(err, text)
	}
	r := &reader{Decoder: json.NewDecoder(strings.NewReader(text)), text: text}
	r.UseNumber()
	if _, err := r.Token(); err != nil { // the {
		return nil, r.broken(err)
	}
	return r.object(1)
}

// Token notes where it begins: behind the last one, and what separates the two.
func (r *reader) Token() (json.Token, error) {
	end := int(r.InputOffset())
	rest := r.text[end:]
	r.start = end + len(rest) - len(strings.TrimLeft(rest, " \t\r\n,:"))
	return r.Decoder.Token()
}

func (r *reader) broken(err error) error { return broken(err, r.text) }

func broken(err error, text string) error {
	var syntax *json.SyntaxError
	// The offset of a wrong last character is that of an end that comes too early: only the text tells them apart.
	if errors.As(err, &syntax) && syntax.Error() != "unexpected end of JSON input" {
		return at(int(syntax.Offset)-1, "not JSON: %s", syntax)
	}
	return at(len(text), "not JSON: it ends too early")
}

// object reads the fields of an object whose { has been read.
func (r *reader) object(depth int) ([]field, error) {
	if depth > mostDepth {
		return nil, at(r.start, "more than %d objects in each other", mostDepth)
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
			return nil, at(r.start, "the key %q stands twice", key)
		}
		seen[key] = true
		if r.fields++; r.fields > mostFields {
			return nil, at(r.start, "more than %d fields", mostFields)
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
			return f, at(r.start, "type %q is not known; allowed: %s, a list of values, or an object with \"type\"", token, kinds)
		}
		return f, nil
	case json.Delim:
		if token == '[' {
			return r.choice(key)
		}
		return r.described(key, depth)
	default:
		return field{}, at(r.start, "%v is no type; allowed: %s, a list of values, or an object with \"type\"", token, kinds)
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
		return f, at(r.start, "the list of values of %q is empty", key)
	}
	return f, nil
}

// description is an object that says what values are like.
type description struct {
	key      string
	kind     string
	bounds   [2]float64 // range or length
	values   [][]byte   // enum; nil: none
	children []field
	start    int
	places   map[string]int // of what it says
}

// described reads a description whose { has been read.
func (r *reader) described(key string, depth int) (field, error) {
	d := description{key: key, start: r.start, places: map[string]int{}}
	for r.More() {
		token, err := r.Token()
		if err != nil {
			return field{}, r.broken(err)
		}
		name, _ := token.(string)
		here := r.start
		if _, twice := d.places[name]; twice {
			return field{}, at(here, "%s of %q stands twice", name, key)
		}
		d.places[name] = here
		switch name {
		case "type":
			if err := r.Decode(&d.kind); err != nil {
				return field{}, at(here, "the type of %q is no text; allowed: %s, object", key, kinds)
			}
		case "range", "length":
			var pair []float64
			if err := r.Decode(&pair); err != nil || len(pair) != 2 || pair[0] > pair[1] || math.Abs(pair[0]) > 1<<53 || math.Abs(pair[1]) > 1<<53 {
				return field{}, at(here, "%s of %q is not [lowest, highest]", name, key)
			}
			d.bounds = [2]float64(pair)
		case "enum":
			if token, err := r.Token(); err != nil || token != json.Delim('[') {
				return field{}, at(here, "enum of %q is no list of values", key)
			}
			choice, err := r.choice(key)
			if err != nil {
				return choice, err
			}
			d.values = choice.allowed
		case "fields":
			if token, err := r.Token(); err != nil || token != json.Delim('{') {
				return field{}, at(here, "fields of %q is no object", key)
			}
			if d.children, err = r.object(depth + 1); err != nil {
				return field{}, err
			}
		default:
			return field{}, at(here, "%q is not known; allowed: type, range (int, float), length (string), enum, fields (object)", name)
		}
	}
	if _, err := r.Token(); err != nil {
		return field{}, r.broken(err)
	}
	return d.field()
}

// place is where it says a name, or where it begins.
func (d *description) place(name string) int {
	if place, said := d.places[name]; said {
		return place
	}
	return d.start
}

func (d *description) says(name string) bool {
	_, said := d.places[name]
	return said
}

// field is what is described, if its parts belong together.
func (d *description) field() (field, error) {
	f, known := newField(d.key, d.kind)
	if d.kind == kindObject {
		f.children, known = d.children, true
	}
	if !known && (d.says("type") || d.values == nil) {
		return f, at(d.place("type"), "type %q of %q is not known; allowed: %s, object", d.kind, d.key, kinds)
	}
	for _, part := range []struct {
		name    string
		belongs bool
	}{
		{"range", f.kind == kindInt || f.kind == kindFloat},
		{"length", f.kind == kindString},
		{"fields", f.kind == kindObject},
	} {
		switch {
		case !d.says(part.name):
		case d.values != nil:
			return f, at(d.place(part.name), "%s of %q stands beside enum, which lists all values", part.name, d.key)
		case !part.belongs:
			return f, at(d.place(part.name), "%s does not belong to the type %s of %q", part.name, f.kind, d.key)
		}
	}
	for _, value := range d.values {
		if known && !isOf(f.kind, value) {
			return f, at(d.place("enum"), "%s in the enum of %q is no %s", value, d.key, f.kind)
		}
	}
	f.allowed = d.values
	if d.says("range") || d.says("length") {
		f.low, f.high = d.bounds[0], d.bounds[1]
	}
	switch {
	case f.allowed != nil:
	case f.kind == kindObject && len(f.children) == 0:
		return f, at(d.start, "%q is an object without fields", d.key)
	case f.kind == kindString && (f.low < 0 || f.high > mostLength):
		return f, at(d.place("length"), "length of %q is outside 0 to %d", d.key, mostLength)
	case f.kind == kindString && math.Ceil(f.low) > math.Floor(f.high):
		return f, at(d.place("length"), "length of %q holds no whole number", d.key)
	case f.kind == kindInt && math.Ceil(f.low) > math.Floor(f.high):
		return f, at(d.place("range"), "range of %q holds no whole number", d.key)
	}
	return f, nil
}

// isOf says whether a value of JSON is of a type.
func isOf(kind string, value []byte) bool {
	switch value[0] {
	case '"':
		return kind == kindString
	case 't', 'f':
		return kind == kindBoolean
	case '{':
		return kind == kindObject
	case '[', 'n':
		return false
	}
	_, err := strconv.ParseInt(string(value), 10, 64)
	return kind == kindFloat || kind == kindInt && err == nil
}

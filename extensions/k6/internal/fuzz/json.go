package fuzz

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
)

type member struct {
	key   string
	at    int // position of the key
	value json.RawMessage
	is    int // position of the value
}

// members splits a valid JSON object into its members, in order.
func (m member) members() []member {
	d := json.NewDecoder(bytes.NewReader(m.value))
	_, _ = d.Token() // the {
	var all []member
	for d.More() {
		end := int(d.InputOffset())
		rest := m.value[end:]
		n := member{at: m.is + end + len(rest) - len(bytes.TrimLeft(rest, " \t\r\n,"))}
		token, _ := d.Token()
		n.key, _ = token.(string)
		_ = d.Decode(&n.value)
		n.is = m.is + int(d.InputOffset()) - len(n.value)
		all = append(all, n)
	}
	return all
}

// reader parses the JSON form. Errors give the position, and keys keep their order.
type reader struct{ fields int }

func parseJSON(text string) ([]field, error) {
	var whole json.RawMessage
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		return nil, broken(err, text)
	}
	return new(reader).object(member{value: []byte(text)}, 1) // with leading space, for the positions
}

func broken(err error, text string) error {
	var syntax *json.SyntaxError
	// The offset is the same for a wrong last character and for a premature end; only the text differs.
	if errors.As(err, &syntax) && syntax.Error() != "unexpected end of JSON input" {
		return at(int(syntax.Offset)-1, "not JSON: %s", syntax)
	}
	return at(len(text), "not JSON: it ends too early")
}

func (r *reader) object(of member, depth int) ([]field, error) {
	if depth > mostDepth {
		return nil, at(of.is, "more than %d objects in each other", mostDepth)
	}
	var fields []field
	seen := map[string]bool{}
	for _, m := range of.members() {
		if seen[m.key] {
			return nil, at(m.at, "the key %q appears twice", m.key)
		}
		seen[m.key] = true
		if r.fields++; r.fields > mostFields {
			return nil, at(m.at, "more than %d fields", mostFields)
		}
		f, err := r.field(m, depth)
		if err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
	return fields, nil
}

func (r *reader) field(m member, depth int) (field, error) {
	switch m.value[0] {
	case '"':
		var kind string
		_ = json.Unmarshal(m.value, &kind)
		f, ok := newField(m.key, kind)
		if !ok {
			return f, at(m.is, "type %q is not known; allowed: %s, a list of values, or an object with \"type\"",
				kind, kinds)
		}
		return f, nil
	case '[':
		f, _ := newField(m.key, "")
		var err error
		f.allowed, err = choice(m, m.key)
		return f, err
	case '{':
		return r.described(m, depth)
	}
	return field{}, at(m.is, "%s is not a type; allowed: %s, a list of values, or an object with \"type\"", m.value, kinds)
}

func choice(m member, key string) ([][]byte, error) {
	var values []json.RawMessage
	if json.Unmarshal(m.value, &values) != nil || values == nil {
		return nil, at(m.at, "enum of %q is not a list of values", key)
	}
	if len(values) == 0 {
		return nil, at(m.is+bytes.IndexByte(m.value, ']'), "the list of values of %q is empty", key)
	}
	var allowed [][]byte
	for _, value := range values {
		compact := &bytes.Buffer{}
		_ = json.Compact(compact, value)
		allowed = append(allowed, compact.Bytes())
	}
	return allowed, nil
}

// described reads the description of values and checks that its parts fit together.
func (r *reader) described(m member, depth int) (field, error) {
	parts, given := m.members(), map[string]member{}
	for _, part := range parts {
		if _, twice := given[part.key]; twice {
			return field{}, at(part.at, "%s of %q appears twice", part.key, m.key)
		}
		switch part.key {
		case "type", "range", "length", "enum", "fields":
			given[part.key] = part
		default:
			return field{}, at(part.at,
				"%q is not known; allowed: type, range (int, float), length (string), enum, fields (object)", part.key)
		}
	}
	kind := ""
	of, typed := given["type"]
	if typed && json.Unmarshal(of.value, &kind) != nil {
		return field{}, at(of.at, "the type of %q must be text; allowed: %s, object", m.key, kinds)
	}
	f, known := newField(m.key, kind)
	known = known || kind == kindObject
	enum, listed := given["enum"]
	if !known && (typed || !listed) {
		if !typed {
			of.at = m.is
		}
		return f, at(of.at, "type %q of %q is not known; allowed: %s, object", kind, m.key, kinds)
	}
	if listed {
		var err error
		if f.allowed, err = choice(enum, m.key); err != nil {
			return f, err
		}
	}
	for _, value := range f.allowed {
		if known && !isOf(f.kind, value) {
			return f, at(enum.at, "%s in the enum of %q must be %s", value, m.key, f.kind)
		}
	}
	belongs := map[string]bool{
		"range": f.kind == kindInt || f.kind == kindFloat, "length": f.kind == kindString,
		"fields": f.kind == kindObject,
	}
	for _, part := range parts {
		fits, limits := belongs[part.key]
		switch {
		case !limits: // type and enum
		case listed:
			return f, at(part.at, "%s of %q is not allowed with enum, which lists all values", part.key, m.key)
		case !fits:
			return f, at(part.at, "%s does not belong to the type %s of %q", part.key, f.kind, m.key)
		case part.key != "fields":
			if err := f.bound(part, m.key); err != nil {
				return f, err
			}
		case part.value[0] != '{':
			return f, at(part.at, "fields of %q must be an object", m.key)
		default:
			var err error
			if f.children, err = r.object(part, depth+1); err != nil {
				return f, err
			}
		}
	}
	if f.kind == kindObject && !listed && len(f.children) == 0 {
		return f, at(m.is, "%q is an object without fields", m.key)
	}
	return f, nil
}

func (f *field) bound(by member, key string) error {
	var pair []float64
	missing := bytes.Contains(by.value, []byte("null")) // a null would be 0
	if json.Unmarshal(by.value, &pair) != nil || missing || len(pair) != 2 || pair[0] > pair[1] ||
		math.Abs(pair[0]) > 1<<53 || math.Abs(pair[1]) > 1<<53 {
		return at(by.at, "%s of %q is not [lowest, highest]", by.key, key)
	}
	f.low, f.high = pair[0], pair[1]
	switch {
	case f.kind == kindString && (f.low < 0 || f.high > mostLength):
		return at(by.at, "length of %q is outside 0 to %d", key, mostLength)
	case f.kind != kindFloat && math.Ceil(f.low) > math.Floor(f.high):
		return at(by.at, "%s of %q holds no whole number", by.key, key)
	}
	return nil
}

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

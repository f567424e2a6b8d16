package runfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// wholeMost is about how many values are decoded and validated at once. Decoded, a value takes up to a hundred times
// its length; the validator keeps every fault, and each takes a hundred times what it is about.
const wholeMost = 20_000

// firstFault validates a value at a place of the document, and ends at the first part that has faults. The validator
// sees small parts as a whole; of large ones their members one by one, then the rest. What the schema does not know is
// never decoded.
func firstFault(s *jsonschema.Schema, text jsontext.Value, place []string) error {
	kind := text.Kind()
	if kind != '{' && kind != '[' || valuesIn(text) <= wholeMost {
		// with its numbers as floats: one like 1e999999999 is refused before the schema's exact arithmetic
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(place, "."), err)
		}
		if err := s.Validate(value); err != nil {
			return fault(place, err)
		}
		return nil
	}
	if s.Ref != nil {
		if err := firstFault(s.Ref, text, place); err != nil {
			return err
		}
	}
	if err := noneFits(s.AnyOf, text, place); err != nil {
		return err
	}
	shell, err := faultOfMember(s, text, place)
	if err != nil {
		return err
	}
	if err := withoutMembers(s).Validate(shell); err != nil {
		return fault(place, err)
	}
	return nil
}

// noneFits returns the fault of the first alternative, if the value fits none. There may be no alternatives.
func noneFits(alternatives []*jsonschema.Schema, text jsontext.Value, place []string) (first error) {
	for _, s := range alternatives {
		err := firstFault(s, text, place)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// faultOfMember returns the first fault of a member of an object, of its name, or of an element of a list. Without one
// it returns the object or the list with nil for each member.
func faultOfMember(s *jsonschema.Schema, text jsontext.Value, place []string) (shell any, err error) {
	isObject, names, n := text.Kind() == '{', map[string]any{}, 0
	for name, member := range membersOf(text) {
		of := memberSchema(s, name, n, isObject)
		at := strconv.Itoa(n)
		n++
		if isObject {
			at, names[name] = name, nil
			if s.PropertyNames != nil {
				if err := s.PropertyNames.Validate(name); err != nil {
					return nil, fault(slices.Concat(place, []string{name}), err)
				}
			}
		}
		if of == nil {
			continue
		}
		if err := firstFault(of, member, slices.Concat(place, []string{at})); err != nil {
			return nil, err
		}
	}
	if isObject {
		return names, nil
	}
	return make([]any, n), nil
}

// memberSchema is the schema of a member of an object by its name, or of an element of a list by its number; nil: it
// has none.
func memberSchema(s *jsonschema.Schema, name string, n int, isObject bool) *jsonschema.Schema {
	switch {
	case isObject && s.Properties[name] != nil:
		return s.Properties[name]
	case isObject:
		of, _ := s.AdditionalProperties.(*jsonschema.Schema)
		return of
	case n < len(s.PrefixItems):
		return s.PrefixItems[n]
	}
	return s.Items2020
}

// membersOf yields the members of an object by their names, or the elements of a list, undecoded. The text is JSON.
func membersOf(text jsontext.Value) iter.Seq2[string, jsontext.Value] {
	return func(yield func(string, jsontext.Value) bool) {
		d := newScanner(text)
		_, err := d.ReadToken()
		for err == nil && d.PeekKind() != '}' && d.PeekKind() != ']' {
			var name string
			if text.Kind() == '{' {
				var token jsontext.Token
				if token, err = d.ReadToken(); err != nil {
					return
				}
				name = token.String()
			}
			var member jsontext.Value
			if member, err = d.ReadValue(); err != nil || !yield(name, member) {
				return
			}
		}
	}
}

// newScanner reads JSON in place, whose characters may be cut: excerpts of answers are.
func newScanner(text []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(slices.Clip(text)), jsontext.AllowInvalidUTF8(true))
}

// withoutMembers is a schema that looks at none of the members of a value, which have been checked.
func withoutMembers(s *jsonschema.Schema) *jsonschema.Schema {
	own := *s
	own.Ref, own.AnyOf, own.Items2020, own.PrefixItems, own.PropertyNames = nil, nil, nil, nil, nil
	own.Properties = make(map[string]*jsonschema.Schema, len(s.Properties))
	anything := true
	for name := range s.Properties {
		own.Properties[name] = &jsonschema.Schema{DraftVersion: s.DraftVersion, Bool: &anything}
	}
	if _, is := s.AdditionalProperties.(*jsonschema.Schema); is {
		own.AdditionalProperties = nil
	}
	return &own
}

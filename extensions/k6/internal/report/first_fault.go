package report

import (
	"maps"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// wholeMost is how many values are validated at once. The validator keeps every fault, and each takes a hundred times
// what it is about.
const wholeMost = 20_000

// firstFault validates a value at a place of the document, and ends at the first part that has faults. The validator
// sees small parts as a whole; of large ones their members one by one, then the rest.
func firstFault(s *jsonschema.Schema, value any, place []string) error {
	if valuesUpTo(wholeMost, value) <= wholeMost {
		if err := s.Validate(value); err != nil {
			return fault(place, err)
		}
		return nil
	}
	if s.Ref != nil {
		if err := firstFault(s.Ref, value, place); err != nil {
			return err
		}
	}
	if err := noneFits(s.AnyOf, value, place); err != nil {
		return err
	}
	if err := faultOfMember(s, value, place); err != nil {
		return err
	}
	if err := withoutMembers(s).Validate(value); err != nil {
		return fault(place, err)
	}
	return nil
}

// noneFits returns the fault of the first alternative, if the value fits none. There may be no alternatives.
func noneFits(alternatives []*jsonschema.Schema, value any, place []string) (first error) {
	for _, s := range alternatives {
		err := firstFault(s, value, place)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// faultOfMember returns the first fault of a member of an object, of its name, or of an element of a list.
func faultOfMember(s *jsonschema.Schema, value any, place []string) error {
	switch value := value.(type) {
	case []any:
		for i, element := range value {
			of := s.Items2020
			if i < len(s.PrefixItems) {
				of = s.PrefixItems[i]
			}
			if of == nil {
				continue
			}
			if err := firstFault(of, element, slices.Concat(place, []string{strconv.Itoa(i)})); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			of := s.Properties[name]
			if of == nil {
				of, _ = s.AdditionalProperties.(*jsonschema.Schema)
			}
			if s.PropertyNames != nil {
				if err := s.PropertyNames.Validate(name); err != nil {
					return fault(slices.Concat(place, []string{name}), err)
				}
			}
			if of == nil {
				continue
			}
			if err := firstFault(of, value[name], slices.Concat(place, []string{name})); err != nil {
				return err
			}
		}
	}
	return nil
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

// valuesUpTo counts the values in a value, itself included, and stops above most.
func valuesUpTo(most int, value any) int {
	n := 1
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			if n > most {
				break
			}
			n += valuesUpTo(most-n, element)
		}
	case map[string]any:
		for _, member := range value {
			if n > most {
				break
			}
			n += valuesUpTo(most-n, member)
		}
	}
	return n
}

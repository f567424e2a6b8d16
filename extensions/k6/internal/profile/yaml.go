package profile

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

type parser = func(*yaml.Node) error

func into[T any](to *T, parse func(*yaml.Node) (T, error)) parser {
	return func(n *yaml.Node) (err error) {
		*to, err = parse(n)
		return err
	}
}

// eachKey parses each value of a mapping with the parser of its key, and refuses unknown keys. It returns the keys'
// lines.
func eachKey(n *yaml.Node, what string, parsers map[string]parser) (map[string]int, error) {
	n = named(n)
	if n.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: %s is not a mapping of keys to values", n.Line, what)
	}
	pairs, err := merged(n, 0)
	if err != nil {
		return nil, err
	}
	seen := map[string]int{}
	for _, pair := range pairs {
		key, value := pair.key, named(pair.value)
		if line, twice := seen[key.Value]; twice {
			return nil, fmt.Errorf("line %d: %s has %q twice, here and in line %d", key.Line, what, key.Value, line)
		}
		seen[key.Value] = key.Line
		parse, ok := parsers[key.Value]
		if !ok {
			return nil, fmt.Errorf("line %d: unknown key %q in %s; allowed: %s",
				key.Line, key.Value, what, strings.Join(slices.Sorted(maps.Keys(parsers)), ", "))
		}
		if err := parse(value); err != nil {
			if value.Kind == yaml.ScalarNode { // a list or a mapping names what is wrong inside it
				err = fmt.Errorf("%w (%s)", err, key.Value)
			}
			return nil, err
		}
	}
	return seen, nil
}

// pair is a key of a mapping and its value.
type pair struct{ key, value *yaml.Node }

// mergesMost is how deep merge keys may be nested: an anchor can contain itself.
const mergesMost = 10

// merged returns the pairs of a mapping with those of its merge keys (<<). A mapping's own keys go before merged ones,
// and earlier merged ones before later ones, as in Artillery's YAML.
func merged(n *yaml.Node, depth int) (own []pair, err error) {
	if depth > mergesMost {
		return nil, fmt.Errorf("line %d: merge keys (<<) are nested more than %d deep", n.Line, mergesMost)
	}
	var more []pair
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], named(n.Content[i+1])
		if key.ShortTag() != "!!merge" {
			own = append(own, pair{key, value})
			continue
		}
		from := []*yaml.Node{value}
		if value.Kind == yaml.SequenceNode {
			from = value.Content
		}
		for _, one := range from {
			one = named(one)
			if one.Kind != yaml.MappingNode {
				return nil, fmt.Errorf("line %d: << merges something that is not a mapping; allowed: a mapping, or a list of them",
					key.Line)
			}
			pairs, err := merged(one, depth+1)
			if err != nil {
				return nil, err
			}
			more = append(more, pairs...)
		}
	}
	has := map[string]bool{}
	for _, p := range own {
		has[p.key.Value] = true
	}
	for _, p := range more {
		if !has[p.key.Value] {
			has[p.key.Value], own = true, append(own, p)
		}
	}
	return own, nil
}

// named returns the node that an alias (*name) stands for, and other nodes as they are.
func named(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func list[T any](what string, parse func(*yaml.Node) (T, error)) func(*yaml.Node) ([]T, error) {
	return func(n *yaml.Node) (all []T, err error) {
		if n = named(n); n.Kind != yaml.SequenceNode {
			return nil, fmt.Errorf("line %d: %s is not a list", n.Line, what)
		}
		for _, item := range n.Content {
			one, err := parse(item)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		return all, nil
	}
}

func number(n *yaml.Node, low, high float64) (float64, error) {
	x, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || err != nil || math.IsNaN(x) {
		return 0, fmt.Errorf("line %d: %q is not a number", n.Line, n.Value)
	}
	if x < low || x > high {
		return 0, fmt.Errorf("line %d: %s is outside %g to %g", n.Line, n.Value, low, high)
	}
	return x, nil
}

func whole(low, high float64) func(*yaml.Node) (int, error) {
	return func(n *yaml.Node) (int, error) {
		x, err := number(n, low, high)
		if err == nil && x != math.Trunc(x) {
			err = fmt.Errorf("line %d: %s is not a whole number", n.Line, n.Value)
		}
		return int(x), err
	}
}

func text(n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		return "", fmt.Errorf("line %d: not a text", n.Line)
	}
	return n.Value, nil
}

func boolean(n *yaml.Node) (is bool, err error) {
	if n.Decode(&is) != nil || n.ShortTag() == "!!null" {
		err = fmt.Errorf("line %d: %q is neither true nor false", n.Line, n.Value)
	}
	return is, err
}

// duration reads seconds (20, 0.5) or a Go duration with its unit (20s, 2m, 500ms).
func duration(n *yaml.Node) (time.Duration, error) {
	if _, err := strconv.ParseFloat(n.Value, 64); err == nil {
		seconds, err := number(n, 0, maxDuration.Seconds())
		return time.Duration(math.Round(seconds * 1e9)), err
	}
	d, err := time.ParseDuration(n.Value)
	switch {
	case n.Kind != yaml.ScalarNode || err != nil:
		return 0, fmt.Errorf("line %d: %q is not a duration: seconds, or a number with ms, s, m or h", n.Line, n.Value)
	case d < 0 || d > maxDuration:
		return 0, fmt.Errorf("line %d: %s is outside 0 to %s", n.Line, n.Value, maxDuration)
	}
	return d, nil
}

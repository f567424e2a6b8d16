package profile

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// eachKey hands each value of a mapping to its parser and refuses keys that have none.
func eachKey(n *yaml.Node, what string, parsers map[string]func(*yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: %s is not a mapping of keys to values", n.Line, what)
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if line, twice := seen[key.Value]; twice {
			return fmt.Errorf("line %d: %s has %q twice, here and in line %d", key.Line, what, key.Value, line)
		}
		seen[key.Value] = key.Line
		parse, ok := parsers[key.Value]
		if !ok {
			allowed := make([]string, 0, len(parsers))
			for k := range parsers {
				allowed = append(allowed, k)
			}
			slices.Sort(allowed)
			return fmt.Errorf("line %d: unknown key %q in %s; allowed: %s",
				key.Line, key.Value, what, strings.Join(allowed, ", "))
		}
		if err := parse(value); err != nil {
			if value.Kind == yaml.ScalarNode { // a list or a mapping names what is wrong inside it
				err = fmt.Errorf("%w (%s)", err, key.Value)
			}
			return err
		}
	}
	return nil
}

func list[T any](n *yaml.Node, what string, parse func(*yaml.Node) (T, error)) ([]T, error) {
	if n.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("line %d: %s is not a list", n.Line, what)
	}
	out := make([]T, 0, len(n.Content))
	for _, item := range n.Content {
		v, err := parse(item)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
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

// whole reads a whole number into a setting.
func whole(into *int, low, high float64) func(*yaml.Node) error {
	return func(v *yaml.Node) error {
		x, err := number(v, low, high)
		if err == nil && x != math.Trunc(x) {
			err = fmt.Errorf("line %d: %s is not a whole number", v.Line, v.Value)
		}
		*into = int(x)
		return err
	}
}

func text(n *yaml.Node, into *string) error {
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		return fmt.Errorf("line %d: not a text", n.Line)
	}
	*into = n.Value
	return nil
}

func boolean(n *yaml.Node, into *bool) error {
	if err := n.Decode(into); err != nil {
		return fmt.Errorf("line %d: %q is neither true nor false", n.Line, n.Value)
	}
	return nil
}

// parseDuration reads seconds (20, 0.5) or a Go duration with its unit (20s, 2m, 500ms). It returns seconds.
func parseDuration(n *yaml.Node) (float64, error) {
	if _, err := strconv.ParseFloat(n.Value, 64); err == nil {
		return number(n, 0, maxDuration.Seconds())
	}
	d, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil {
		return 0, fmt.Errorf("line %d: %q is not a duration: seconds, or a number with ms, s, m or h", n.Line, n.Value)
	}
	if d < 0 || d > maxDuration {
		return 0, fmt.Errorf("line %d: %s is outside 0 to %s", n.Line, n.Value, maxDuration)
	}
	return d.Seconds(), nil
}

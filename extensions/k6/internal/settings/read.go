package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

// reader collects the settings of a file.
type reader struct {
	path, folder string
	lookup       Lookup
	all          []Setting
}

// wrong is an error at a node of the file.
func (r *reader) wrong(n *yaml.Node, text string, values ...any) error {
	return fmt.Errorf("%s: "+text, append([]any{r.at(n)}, values...)...)
}

func (r *reader) at(n *yaml.Node) string { return fmt.Sprintf("%s:%d:%d", r.path, n.Line, n.Column) }

// add notes a setting.
func (r *reader) add(n *yaml.Node, key []string, s *schema, value string) {
	r.all = append(r.all, Setting{s.Setting, value, strings.Join(key, "."), r.at(n), s.Kind})
}

// object reads a mapping of keys to values. key is its place in the file; empty: it is the file.
func (r *reader) object(s *schema, n *yaml.Node, key []string) error {
	what := "the file"
	if len(key) > 0 {
		what = strings.Join(key, ".")
	}
	value := named(n)
	if value.Kind != yaml.MappingNode {
		return r.wrong(n, "%s is %s; allowed: keys with values: %s", what, says(value), s.names())
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(value.Content); i += 2 {
		k, v := value.Content[i], value.Content[i+1]
		if named(k).Kind != yaml.ScalarNode {
			return r.wrong(k, "a key is %s; allowed: %s", says(named(k)), s.names())
		}
		path := append(slices.Clone(key), k.Value)
		if line, twice := seen[k.Value]; twice {
			return r.wrong(k, "%s stands here and in line %d; allowed: once", strings.Join(path, "."), line)
		}
		seen[k.Value] = k.Line
		one := s.Properties[k.Value]
		var err error
		switch {
		case one == nil:
			return r.wrong(k, "%s is not known%s; allowed: %s", strings.Join(path, "."), like(k.Value, s.keys()), s.names())
		case one.Properties != nil:
			err = r.object(one, v, path)
		default:
			err = r.leaf(one, v, path)
		}
		if err != nil {
			return err
		}
	}
	for _, required := range s.Required {
		if seen[required] == 0 {
			return r.wrong(n, "%s is missing", strings.Join(append(slices.Clone(key), required), "."))
		}
	}
	if s.Setting == "" {
		return nil
	}
	if len(seen) != 1 { // the one key is the value
		return r.wrong(n, "%s has %d keys; allowed: one of %s", what, len(seen), s.names())
	}
	r.add(value.Content[0], key, s, value.Content[0].Value)
	return nil
}

func (r *reader) leaf(s *schema, n *yaml.Node, key []string) error {
	value, err := r.value(s, n, strings.Join(key, "."))
	if err != nil {
		return err
	}
	if strings.ContainsRune(value, 0) {
		return r.wrong(n, "%s has a zero byte, which no setting can have", strings.Join(key, "."))
	}
	r.add(n, key, s, value)
	return nil
}

// named returns the node that an alias (*name) stands for, and other nodes as they are.
func named(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// says what a node is, for errors.
func says(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.ShortTag() == "!!null":
		return "empty"
	}
	return fmt.Sprintf("%q", n.Value)
}

// like is ", url is" for ulr: the nearest key, if one is near enough.
func like(name string, keys []string) string {
	known := &cobra.Command{} // which knows Levenshtein's distance
	for _, key := range keys {
		known.AddCommand(&cobra.Command{Use: key, Run: func(*cobra.Command, []string) {}})
	}
	for known.SuggestionsMinimumDistance < min(3, len(name)) {
		if near := known.SuggestionsFor(name); len(near) > 0 {
			return ", " + near[0] + " is"
		}
		known.SuggestionsMinimumDistance++
	}
	return ""
}

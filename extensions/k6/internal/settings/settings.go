// Package settings reads pipeline files: where the messages of a pipeline go in and where they come out, as settings of
// the scripts. The schema says which keys a file has, and of which setting each is another form.
package settings

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// Schema is the JSON schema of a pipeline file.
//
//go:embed pipeline.schema.json
var Schema []byte

// fileMost is the longest pipeline file, in bytes.
const fileMost = 1 << 20

// Setting is a setting that a pipeline file has.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Key   string `json:"key"` // its place in the file, like arrive.mqtt.url
	At    string `json:"at"`  // file:line:column
	kind  string // as of the schema
}

// Lookup returns a variable of the environment, as os.LookupEnv does.
type Lookup func(name string) (string, bool)

// Read reads a pipeline file. Errors have its name, the line and the column, and what is allowed.
func Read(path string, lookup Lookup) ([]Setting, error) {
	text, err := load(path)
	if err != nil {
		return nil, err
	}
	var doc, next yaml.Node
	documents := yaml.NewDecoder(strings.NewReader(text))
	err = documents.Decode(&doc)
	if err == nil {
		err = documents.Decode(&next)
	}
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, notYAML(path, text, err)
	case len(doc.Content) == 0 || doc.Content[0].ShortTag() == "!!null":
		return nil, fmt.Errorf("%s is empty; allowed: %s", path, whole().names())
	case len(next.Content) > 0 && next.Content[0].ShortTag() != "!!null": // an empty one may follow the last ---
		return nil, fmt.Errorf("%s:%d:%d: a second document; allowed is one", path, next.Content[0].Line,
			next.Content[0].Column)
	}
	r := &reader{path: path, folder: filepath.Dir(path), lookup: lookup}
	if err := r.object(whole(), doc.Content[0], nil); err != nil {
		return nil, err
	}
	return r.all, nil
}

func load(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("the pipeline file can't be read: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, fileMost+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("the pipeline file can't be read: %w", err)
	case len(text) > fileMost:
		return "", fmt.Errorf("%s has more than %s bytes, the most of a pipeline file", path, words.Count(fileMost))
	}
	return string(text), nil
}

// notYAML is the error of a file that YAML's grammar does not have.
func notYAML(path, text string, err error) error {
	why, line, place := strings.TrimPrefix(err.Error(), "yaml: "), 1, path // the first line has no number
	if _, none := fmt.Sscanf(why, "line %d: ", &line); none == nil {
		_, why, _ = strings.Cut(why, ": ")
		place = fmt.Sprintf("%s:%d", path, line)
	}
	if at, column, is := tabAt(strings.Split(text, "\n"), line, why); is {
		return fmt.Errorf("%s:%d:%d: a tab indents this line; allowed: spaces (not YAML: %s)", path, at, column, why)
	}
	return fmt.Errorf("%s: not YAML: %s", place, why)
}

// tabAt finds the tab that an error is about: it stands in the line that the error names, or below it. The other tabs of
// a file may be part of a text.
func tabAt(lines []string, line int, why string) (at, column int, is bool) {
	last := len(lines)
	switch {
	case strings.Contains(why, "cannot start any token"): // a tab, or a character like @, in this line
		last = min(line, last)
	case !strings.Contains(why, "tab character"):
		return 0, 0, false
	}
	for i := line; i <= last; i++ {
		indent := lines[i-1][:len(lines[i-1])-len(strings.TrimLeft(lines[i-1], " \t"))]
		// Behind the spaces of a block, a tab is part of its text.
		if tab := strings.IndexByte(indent, '\t'); tab >= 0 && (!is || tab < column-1) {
			at, column, is = i, tab+1, true
		}
	}
	return at, column, is
}

// Effective returns the settings of a file that take effect beside flags (-e), which stand before it. A variable of the
// environment with another value is refused, as one of the two would be ignored.
func Effective(all []Setting, flags []string, lookup Lookup) (effective []Setting, err error) {
	for _, s := range all {
		if slices.Contains(flags, s.Name) {
			continue
		}
		if other, _ := lookup(s.Name); other != "" && !s.says(other) {
			return nil, fmt.Errorf("%s: %s is %s, which has another value in the environment: leave out one of them; "+
				"-e %s=… stands before both", s.At, s.Key, s.Name, s.Name)
		}
		effective = append(effective, s)
	}
	return effective, nil
}

// says reports whether a text of the environment is the value of a setting, perhaps in other words. A path is seen from
// the working directory there.
func (s Setting) says(text string) bool {
	if text == s.Value {
		return true
	}
	switch s.kind {
	case "number", "integer", "integer,array":
		one, err := strconv.ParseFloat(s.Value, 64)
		other, not := strconv.ParseFloat(text, 64)
		if err == nil && not == nil {
			return one == other
		}
		return slices.Equal(parts(s.Value), parts(text))
	case "list", "labels":
		return slices.Equal(parts(s.Value), parts(text))
	case "headers":
		var one, other map[string]string
		return json.Unmarshal([]byte(s.Value), &one) == nil && json.Unmarshal([]byte(text), &other) == nil &&
			maps.Equal(one, other)
	case "file":
		one, err := os.Stat(s.Value)
		other, not := os.Stat(text)
		return err == nil && not == nil && os.SameFile(one, other)
	}
	return false
}

// parts are the texts between commas.
func parts(text string) []string {
	all := strings.Split(text, ",")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

// schema is what the reader wants of the JSON schema.
type schema struct {
	Setting    string             `json:"x-setting"`
	Kind       string             `json:"x-kind"`
	Empty      bool               `json:"x-empty"`
	Required   []string           `json:"required"`
	Properties map[string]*schema `json:"properties"`
	Minimum    float64            `json:"minimum"`
	Maximum    float64            `json:"maximum"`
	AnyOf      []struct {
		Enum []any `json:"enum"`
	} `json:"anyOf"`
}

func whole() *schema {
	s := &schema{}
	if err := json.Unmarshal(Schema, s); err != nil {
		panic(err) // it is part of the program
	}
	return s
}

// Files returns the names of settings that are the path of a file.
func Files() []string { return whole().files() }

func (s *schema) files() (all []string) {
	if s.Kind == "file" {
		return []string{s.Setting}
	}
	for _, key := range s.keys() {
		all = append(all, s.Properties[key].files()...)
	}
	return all
}

// names are the keys of an object.
func (s *schema) names() string { return strings.Join(s.keys(), ", ") }

func (s *schema) keys() (all []string) {
	for key := range s.Properties {
		all = append(all, key)
	}
	slices.Sort(all)
	return all
}

// words are the values of a choice.
func (s *schema) words() (all []string) {
	for _, one := range s.AnyOf {
		for _, word := range one.Enum {
			if text, is := word.(string); is {
				all = append(all, text)
			}
		}
	}
	return all
}

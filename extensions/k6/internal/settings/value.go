package settings

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// value is the text of a setting.
func (r *reader) value(s *schema, n *yaml.Node, key string) (string, error) {
	switch s.Kind {
	case "headers":
		return r.headers(n, key)
	case "labels":
		return r.labels(n, key)
	case "list":
		return r.list(n, key)
	case "integer,array":
		if named(n).Kind == yaml.SequenceNode {
			return r.names(n, key)
		}
	}
	raw, err := r.scalar(n, key, allowedOf(s))
	if err != nil {
		return "", err
	}
	if s.Kind == "secret" && !variable.MatchString(raw) {
		return "", r.wrong(n, "%s is a secret, and a file has none; allowed: a variable of the environment, like $%s", key,
			s.Setting)
	}
	if part := secretIn(s.Kind, raw); part != "" {
		return "", r.wrong(n, "%s has a secret (%s), and a file has none; allowed: a variable of the environment in its "+
			"place, like $NAME", key, part)
	}
	text, err := r.expand(n, key, raw, s.Kind == "url")
	if err != nil {
		return "", err
	}
	if text == "" && !s.Empty {
		return "", r.wrong(n, "%s is empty: leave it out, or set it", key)
	}
	return r.checked(s, n, key, text)
}

// checked refuses a text that the setting does not allow, and finds the file of a path.
func (r *reader) checked(s *schema, n *yaml.Node, key, text string) (string, error) {
	switch s.Kind {
	case "number", "integer", "integer,array":
		value, err := strconv.ParseFloat(text, 64)
		whole := s.Kind == "number" || value == float64(int64(value))
		if err != nil || !whole || !(value >= s.Minimum && value <= s.Maximum) {
			return "", r.wrong(n, "%s is %q; allowed: %s", key, text, allowedOf(s))
		}
		return strconv.FormatFloat(value, 'f', -1, 64), nil
	case "boolean", "choice":
		if !slices.Contains(wordsOf(s), text) {
			return "", r.wrong(n, "%s is %q; allowed: %s", key, text, allowedOf(s))
		}
	case "file":
		path := text
		if !filepath.IsAbs(path) {
			path = filepath.Join(r.folder, path)
		}
		path, err := filepath.Abs(path)
		if err == nil {
			_, err = os.ReadFile(path)
		}
		if err != nil {
			return "", r.wrong(n, "%s can't be read: %w; a path is seen from this file", key, err)
		}
		return path, nil
	}
	return text, nil
}

func wordsOf(s *schema) []string {
	if s.Kind == "boolean" {
		return []string{"true", "false"}
	}
	return s.words()
}

// allowedOf says what a value may be.
func allowedOf(s *schema) string {
	span := strconv.FormatFloat(s.Minimum, 'f', -1, 64) + " to " + strconv.FormatFloat(s.Maximum, 'f', -1, 64)
	switch s.Kind {
	case "number":
		return span
	case "integer":
		return "whole numbers from " + span
	case "integer,array":
		return span + ", or a list of names"
	case "boolean", "choice":
		return strings.Join(wordsOf(s), ", ")
	case "file":
		return "the path of a file"
	case "secret":
		return "$NAME, a variable of the environment"
	}
	return "a text"
}

// scalar is a value that is neither a list nor a mapping.
func (r *reader) scalar(n *yaml.Node, key, allowed string) (string, error) {
	value := named(n)
	switch tag := value.ShortTag(); {
	case value.Kind != yaml.ScalarNode || tag == "!!null":
	case !slices.Contains([]string{"!!str", "!!int", "!!float", "!!bool", "!!timestamp"}, tag):
		return "", r.wrong(n, "%s has the tag %s; allowed: none", key, tag)
	default:
		return value.Value, nil
	}
	return "", r.wrong(n, "%s is %s; allowed: %s", key, says(named(n)), allowed)
}

var (
	// reference matches $NAME and ${NAME}, a variable of the environment, and $$, which stands for $.
	reference = regexp.MustCompile(`\$(?:\$|\{[A-Z_][A-Z0-9_]*\}|[A-Z_][A-Z0-9_]*)`)
	// variable matches a text that is one variable, and nothing else.
	variable = regexp.MustCompile(`^\$(?:\{[A-Z_][A-Z0-9_]*\}|[A-Z_][A-Z0-9_]*)$`)
	// authority matches the user and the password of an address.
	authority = regexp.MustCompile(`^[a-z][a-z0-9+.-]*://([^/?#@]*)@`)
)

// expand replaces variables. An address gets those of its user and its password percent-encoded.
func (r *reader) expand(n *yaml.Node, key, text string, address bool) (string, error) {
	user := []int{0, 0, 0, 0}
	if found := authority.FindStringSubmatchIndex(text); address && found != nil {
		user = found
	}
	var all strings.Builder
	from := 0
	for _, at := range reference.FindAllStringIndex(text, -1) {
		all.WriteString(text[from:at[0]])
		from = at[1]
		name := strings.Trim(text[at[0]+1:at[1]], "{}")
		if name == "$" {
			all.WriteByte('$')
			continue
		}
		value, _ := r.lookup(name)
		if value == "" {
			return "", r.wrong(n, "%s has $%s, which is not set in the environment ($$ stands for $)", key, name)
		}
		if at[0] >= user[2] && at[1] <= user[3] {
			value = strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
		}
		all.WriteString(value)
	}
	all.WriteString(text[from:])
	return all.String(), nil
}

// secretIn names a part of a text that is a secret, written out; empty: it has none.
func secretIn(kind, text string) string {
	if kind == "send" && words.HasSecretMember(reference.ReplaceAllString(text, "")) {
		return "a member of JSON"
	}
	if kind != "url" {
		return ""
	}
	if found := authority.FindStringSubmatch(text); found != nil {
		_, password, _ := strings.Cut(found[1], ":")
		if password != "" && !variable.MatchString(password) {
			return "the password"
		}
	}
	_, query, _ := strings.Cut(text, "?")
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if value != "" && words.IsSecretName(name) && !reference.MatchString(value) {
			return name
		}
	}
	return ""
}

// headers is a JSON object of header fields.
func (r *reader) headers(n *yaml.Node, key string) (string, error) {
	all := map[string]string{}
	err := r.fields(n, key, func(k *yaml.Node, raw, text string) error {
		if words.IsSecretName(k.Value) && !reference.MatchString(raw) {
			return r.wrong(k, "%s.%s is a secret, and a file has none; allowed: a variable of the environment, like "+
				"Bearer $NAME", key, k.Value)
		}
		all[k.Value] = text
		return nil
	})
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(all)
	return string(text), err
}

// labels is name=value,name=value.
func (r *reader) labels(n *yaml.Node, key string) (string, error) {
	var all []string
	err := r.fields(n, key, func(k *yaml.Node, _, text string) error {
		if strings.ContainsAny(k.Value+text, ",=") {
			return r.wrong(k, "%s.%s has a comma or =, which labels cannot have", key, k.Value)
		}
		all = append(all, k.Value+"="+text)
		return nil
	})
	return strings.Join(all, ","), err
}

// fields hands on each field of a mapping of names to texts, as it stands and with its variables replaced.
func (r *reader) fields(n *yaml.Node, key string, take func(k *yaml.Node, raw, text string) error) error {
	value := named(n)
	if value.Kind != yaml.MappingNode {
		return r.wrong(n, "%s is %s; allowed: names with texts, like x-tenant: berlin", key, says(value))
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(value.Content); i += 2 {
		k, of := value.Content[i], value.Content[i+1]
		if seen[k.Value] {
			return r.wrong(k, "%s.%s stands twice; allowed: once", key, k.Value)
		}
		seen[k.Value] = true
		raw, err := r.scalar(of, key+"."+k.Value, "a text")
		if err != nil {
			return err
		}
		text, err := r.expand(of, key+"."+k.Value, raw, false)
		if err != nil {
			return err
		}
		if err := take(k, raw, text); err != nil {
			return err
		}
	}
	return nil
}

// list is texts with commas between them.
func (r *reader) list(n *yaml.Node, key string) (string, error) {
	value := named(n)
	if value.Kind != yaml.SequenceNode || len(value.Content) == 0 {
		return "", r.wrong(n, "%s is %s; allowed: a list, like [a, b]", key, says(value))
	}
	var all []string
	for _, one := range value.Content {
		raw, err := r.scalar(one, key, "a list of texts")
		if err != nil {
			return "", err
		}
		text, err := r.expand(one, key, raw, false)
		if err != nil {
			return "", err
		}
		if strings.TrimSpace(text) == "" || strings.Contains(text, ",") {
			return "", r.wrong(one, "%s has %q; allowed: names without a comma", key, text)
		}
		all = append(all, text)
	}
	return strings.Join(all, ","), nil
}

var numeric = regexp.MustCompile(`^-?[\d.]+$`)

// names is a list of targets.
func (r *reader) names(n *yaml.Node, key string) (string, error) {
	text, err := r.list(n, key)
	if err == nil && numeric.MatchString(text) { // TARGETS=5 is five targets
		return "", r.wrong(n, "%s has one name, which is a number; allowed: several names, or targetsFile", key)
	}
	return text, err
}

package profile

import (
	"fmt"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// targetsMost bounds the targets of a flow.
const targetsMost = 100_000

// defaultTarget is the beginning of a flow's targets.
const defaultTarget = "user"

// targetName is one that stands as it is in a topic, in the path of a URL and in JSON.
var targetName = regexp.MustCompile(`^[A-Za-z0-9_.:@~-]+(/[A-Za-z0-9_.:@~-]+)*$`)

// round are the targets that the messages of a flow go round: so many, or those of a list.
type round struct {
	number int
	names  []string
}

func (r round) of(f *Flow) {
	if r.names != nil {
		f.SetNames(r.names)
		return
	}
	if f.Names != nil {
		f.Names, f.Target = nil, defaultTarget
	}
	f.Targets = r.number
}

// targets reads a number, or a list of names.
func targets(n *yaml.Node) (r round, err error) {
	if n = named(n); n.Kind != yaml.SequenceNode {
		r.number, err = numbered(n)
		return r, err
	}
	if r.names, err = list("targets", text)(n); err != nil {
		return r, err
	}
	seen := map[string]bool{}
	for i, name := range r.names {
		switch {
		case !targetName.MatchString(name):
			err = fmt.Errorf("line %d: name %d, %q: letters, digits, _ . : @ ~ - and single / between them are allowed",
				n.Content[i].Line, i+1, excerpt(name))
		case seen[name]:
			err = fmt.Errorf("line %d: name %d, %q, is listed twice", n.Content[i].Line, i+1, excerpt(name))
		}
		if err != nil {
			return r, err
		}
		seen[name] = true
	}
	if len(r.names) == 0 || len(r.names) > targetsMost {
		err = fmt.Errorf("line %d: %d names are outside 1 to %d", n.Line, len(r.names), targetsMost)
	}
	return r, err
}

// shared is a target that two flows have, one of them by name; empty: there is none.
func shared(a, b *Flow) string {
	if a.Names == nil {
		a, b = b, a
	}
	has := map[string]bool{}
	for _, name := range b.Names {
		has[name] = true
	}
	for _, name := range a.Names {
		if has[name] || b.Names == nil && b.has(name) {
			return name
		}
	}
	return ""
}

// excerpt is the beginning of a long text.
func excerpt(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	return text[:most] + " …"
}

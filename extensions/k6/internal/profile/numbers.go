package profile

import (
	"bytes"
	"slices"
	"strconv"
)

// Targets numbers the targets of flows from 0, flow by flow. Flows with the same Target share theirs.
type Targets struct {
	groups []group
	firsts []int // number of each flow's first target
	sizes  []int // targets of each flow
	total  int
}

// group are the targets of a flow.
type group struct {
	flow  Flow
	first int
	names map[string]int // nil: they are numbered
}

// NewTargets numbers the targets of flows.
func NewTargets(flows []Flow) (t Targets) {
	for _, f := range flows {
		at := slices.IndexFunc(t.groups, func(g group) bool { return g.flow.Target == f.Target })
		if at < 0 {
			at = len(t.groups)
			g := group{flow: f, first: t.total}
			if f.Names != nil {
				g.names = map[string]int{}
				for i, name := range f.Names {
					g.names[name] = i
				}
			}
			t.groups = append(t.groups, g)
			t.total += f.Targets
		}
		t.firsts, t.sizes = append(t.firsts, t.groups[at].first), append(t.sizes, f.Targets)
	}
	return t
}

// Total is the number of all targets.
func (t Targets) Total() int { return t.total }

// First is the number of a flow's first target.
func (t Targets) First(flow int) int { return t.firsts[flow] }

// Of is the target of a message: its flow's messages go round the flow's targets, and nth counts them from 0.
func (t Targets) Of(flow, nth int) int { return t.firsts[flow] + nth%t.sizes[flow] }

// Name is the name of a target.
func (t Targets) Name(target int) string {
	g, within, _ := t.group(target)
	return g.flow.TargetOf(within)
}

// Within is the number of a target within its flow, and how many deliveries are due for a message to it.
func (t Targets) Within(target int) (within, deliveries int) {
	g, within, _ := t.group(target)
	return within, g.flow.Deliveries
}

func (t Targets) group(target int) (g group, within int, ok bool) {
	for _, g := range t.groups {
		if within = target - g.first; within >= 0 && within < g.flow.Targets {
			return g, within, true
		}
	}
	return group{}, 0, false
}

// Number is the number of the target with a name; false: there is none.
func (t Targets) Number(name []byte) (target int, ok bool) {
	slash := max(0, bytes.LastIndexByte(name, '/'))
	prefix, digits := name[:slash], name[min(slash+1, len(name)):]
	for _, g := range t.groups {
		if g.names != nil {
			if within, known := g.names[string(name)]; known {
				return g.first + within, true
			}
			continue
		}
		if g.flow.Target != string(prefix) {
			continue
		}
		within, err := strconv.Atoi(string(digits))
		if err == nil && within >= 0 && within < g.flow.Targets && g.flow.TargetOf(within) == string(name) {
			return g.first + within, true
		}
	}
	return 0, false
}

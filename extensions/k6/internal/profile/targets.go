package profile

import (
	"bytes"
	"slices"
	"strconv"
)

// Targets numbers the targets of flows from 0, flow by flow. Flows with the same prefix share theirs.
type Targets struct {
	groups []group
	firsts []int // number of each flow's first target
	total  int
}

// group are the targets <prefix>/0 to <prefix>/<number − 1>.
type group struct {
	prefix        string
	first, number int
	deliveries    int // due for a message to one of them
}

// NewTargets numbers the targets of flows.
func NewTargets(flows []Flow) (t Targets) {
	for _, f := range flows {
		at := slices.IndexFunc(t.groups, func(g group) bool { return g.prefix == f.Target })
		if at < 0 {
			at = len(t.groups)
			t.groups = append(t.groups, group{f.Target, t.total, f.Targets, f.Deliveries})
			t.total += f.Targets
		}
		t.firsts = append(t.firsts, t.groups[at].first)
	}
	return t
}

// Total is the number of all targets.
func (t Targets) Total() int { return t.total }

// First is the number of a flow's first target.
func (t Targets) First(flow int) int { return t.firsts[flow] }

// Name is the name of a target: <prefix>/<number within its flow>.
func (t Targets) Name(target int) string {
	g, within, _ := t.group(target)
	return g.prefix + "/" + strconv.Itoa(within)
}

// Within is the number of a target within its flow, and how many deliveries are due for a message to it.
func (t Targets) Within(target int) (within, deliveries int) {
	g, within, _ := t.group(target)
	return within, g.deliveries
}

func (t Targets) group(target int) (g group, within int, ok bool) {
	for _, g := range t.groups {
		if within = target - g.first; within >= 0 && within < g.number {
			return g, within, true
		}
	}
	return group{}, 0, false
}

// Number is the number of the target with a name; false: there is none.
func (t Targets) Number(name []byte) (target int, ok bool) {
	slash := bytes.LastIndexByte(name, '/')
	if slash < 0 {
		return 0, false
	}
	within, err := strconv.Atoi(string(name[slash+1:]))
	if err != nil || strconv.Itoa(within) != string(name[slash+1:]) {
		return 0, false
	}
	for _, g := range t.groups {
		if g.prefix == string(name[:slash]) {
			return g.first + within, within >= 0 && within < g.number
		}
	}
	return 0, false
}

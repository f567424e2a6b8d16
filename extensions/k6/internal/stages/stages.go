// Package stages says which stages a delivery passes. They are data: run.json has the list of its run, and everything
// that shows stages reads it there. Stage i ends where stage i+1 begins, so they sum to the arrival latency. The first
// begins when a message is due and ends when it is sent; each end after that but the last is a stamp of package hops.
package stages

import (
	"fmt"
	"regexp"
	"slices"
)

// Stage is a part of a delivery's time. Its JSON is an element of run.json's stages.
type Stage struct {
	Name string `json:"name"`
	From string `json:"from"` // the mark at which it begins
	To   string `json:"to"`   // the mark at which it ends
	Says string `json:"says"` // what it holds, in a few words; empty: not known
	// CrossesHosts: its marks may come from two clocks, so it is known only within the clock bound.
	CrossesHosts bool `json:"crosses_hosts"`
}

// Most is how many stages a delivery passes at most. Records of deliveries hold arrays of this length.
const Most = 12

// Schedule is the first stage of every list: how far the generator was behind its schedule. It covers arrived messages
// only.
const Schedule = "schedule"

// List are the stages of a run, in order.
type List []Stage

// Default are the stages of the pipeline in this repository. For a stage more insert a row, and a stamp where it ends.
func Default() List {
	return List{
		{Name: Schedule, From: "due", To: "sent", Says: "how far the generator was behind its schedule"},
		{Name: "request", From: "sent", To: "received", Says: "connection, HTTP, parsing", CrossesHosts: true},
		{Name: "ingest", From: "received", To: "queued", Says: "validation, batching"},
		{Name: "queue", From: "queued", To: "claimed", Says: "Redis, the wait for a free relay", CrossesHosts: true},
		{Name: "relay", From: "claimed", To: "published", Says: "relay, back-pressure from the broker"},
		{
			Name: "delivery", From: "published", To: "arrived", CrossesHosts: true,
			Says: "broker and network; without a kernel stamp also the wait in the socket",
		},
	}
}

var nameLike = regexp.MustCompile(`^[a-z][a-z0-9_]{0,15}$`)

// Named are the stages of a pipeline that has others: the names of those after Schedule. The pipeline stamps where one
// ends and the next begins, so n names have n−1 stamps. The error says what is allowed.
func Named(names []string) (List, error) {
	l := List{Default()[0]}
	for i, name := range names {
		switch {
		case !nameLike.MatchString(name):
			return nil, fmt.Errorf("stage %q: up to 16 small letters, digits and _ are allowed, with a letter first",
				name)
		case slices.ContainsFunc(l, func(s Stage) bool { return s.Name == name }):
			return nil, fmt.Errorf("stage %q is listed twice, or is the one before the first (%s)", name, Schedule)
		}
		s := Stage{Name: name, From: l[i].To, To: fmt.Sprintf("stamp %d", i+1), CrossesHosts: true}
		if i == len(names)-1 {
			s.To = "arrived"
		}
		l = append(l, s)
	}
	if len(l) < 2 || len(l) > Most {
		return nil, fmt.Errorf("%d stages; allowed: 1 to %d, after which a message has arrived", len(names), Most-1)
	}
	return l, nil
}

// Until returns the stages up to a named one, whose end is then the arrival; nil if no stage has that name.
func (l List) Until(name string) List {
	at := slices.IndexFunc(l, func(s Stage) bool { return s.Name == name })
	if at < 0 {
		return nil
	}
	l = slices.Clone(l[:at+1])
	l[at].To = "arrived"
	return l
}

// Rest names what follows the schedule where no stamps divide it.
func (l List) Rest() string {
	switch len(l) {
	case 0, 1:
		return "sent to arrived"
	case 2:
		return l[1].Name
	}
	return l[1].Name + " to " + l[len(l)-1].Name
}

// Stamps is how many stamps a message has that passes all stages.
func (l List) Stamps() int { return len(l) - 2 }

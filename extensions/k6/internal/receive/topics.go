package receive

import (
	"strconv"

	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

// How the run's topics are held.
const (
	exactTopics    = "exact"    // each topic by name
	wildcardTopics = "wildcard" // all topics of a target with one filter
	sharedTopics   = "shared"   // wildcards in one shared subscription (MQTT 5, 4.8.2): each message goes to one connection
)

// Filters returns the topic filters of each connection of a run's instance.
//
// Exact: target i of a flow with d deliveries is held by the connections i, i+1, … i+d−1 (modulo their number), so each
// message is due at exactly d of them, and their load is even. Wildcard: the first d connections hold all targets. Shared: all
// connections do, each message is due at one of them.
//
// With more than one broker each has a connection of its own, which holds everything there.
//
// The group of a shared subscription is the run's own: what is left of another run would take a share.
func (o Options) Filters(p *profile.Profile, name string) [][]string {
	filters := make([][]string, p.Subscribers())
	if o.Filter != "" { // the pipeline's own topics: each connection gets every message
		for c := range filters {
			filters[c] = []string{o.Filter}
		}
		return filters
	}
	seen := map[string]bool{}
	for _, f := range p.Flows {
		if seen[f.Target] {
			continue
		}
		seen[f.Target] = true
		prefix := o.Prefix + f.Target + "/"
		switch o.Topics {
		case sharedTopics:
			for c := range filters {
				filters[c] = append(filters[c], "$share/arrival-"+name+"/"+prefix+"+")
			}
		case wildcardTopics:
			for c := range max(f.Deliveries, min(len(filters), o.Brokers())) {
				filters[c] = append(filters[c], prefix+"+")
			}
		default:
			for i := range f.Targets {
				for d := range max(f.Deliveries, min(len(filters), o.Brokers())) {
					c := (i + d) % len(filters)
					filters[c] = append(filters[c], prefix+strconv.Itoa(i))
				}
			}
		}
	}
	return filters
}

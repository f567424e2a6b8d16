package mqtt

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

func TestTopicsOfEachConnection(t *testing.T) {
	t.Parallel()
	o := Options{Prefix: "m/"}
	p := &profile.Profile{Flows: []profile.Flow{
		{Name: "direct", Target: "user", Targets: 2, Deliveries: 1},
		{Name: "again", Target: "user", Targets: 2, Deliveries: 1},
		{Name: "room", Target: "room", Targets: 1, Deliveries: 2},
	}}
	assert.Equal(t, [][]string{{"m/user/0", "m/room/0"}, {"m/user/1", "m/room/0"}}, o.filters(p, "run1"))
	o.Topics = "wildcard"
	assert.Equal(t, [][]string{{"m/user/+", "m/room/+"}, {"m/room/+"}}, o.filters(p, "run1"))
	o.Topics = "shared"
	shared := []string{"$share/arrival-run1/m/user/+", "$share/arrival-run1/m/room/+"}
	assert.Equal(t, [][]string{shared, shared}, o.filters(p, "run1"),
		"the group is this run's own: another run's would take a share")
}

// Targets by name have no filter of their own that nothing else matches.
func TestTopicsOfNamedTargets(t *testing.T) {
	t.Parallel()
	flow := profile.Flow{Name: "direct", Deliveries: 1}
	flow.SetNames([]string{"berlin", "site/rome"})
	p := &profile.Profile{Flows: []profile.Flow{flow}}
	for topics, want := range map[string][]string{
		"exact":    {"m/berlin", "m/site/rome"},
		"wildcard": {"m/berlin", "m/site/rome"},
		"shared":   {"$share/arrival-run1/m/berlin", "$share/arrival-run1/m/site/rome"},
	} {
		o := Options{Prefix: "m/", Topics: topics}
		assert.Equal(t, [][]string{want}, o.filters(p, "run1"), topics)
	}
}

func TestEachBrokerHasAllTopics(t *testing.T) {
	t.Parallel()
	o := Options{Prefix: "m/", Topics: "exact", URL: "mqtt://one", More: []string{"mqtt://two"}}
	p := &profile.Profile{Flows: []profile.Flow{{Name: "direct", Target: "user", Targets: 2, Deliveries: 1}},
		Connections: o.Describe().Connections}
	all := []string{"m/user/0", "m/user/1"}
	assert.Equal(t, [][]string{all, all}, o.filters(p, "run1"))
}

func TestANameThatAnotherFlowsFilterHoldsIsRefused(t *testing.T) {
	t.Parallel()
	vip := profile.Flow{Name: "vip", Deliveries: 1}
	vip.SetNames([]string{"user/vip"})
	p := &profile.Profile{Flows: []profile.Flow{{Name: "direct", Target: "user", Targets: 7, Deliveries: 1}, vip}}
	for topics, refused := range map[string]bool{exactTopics: false, wildcardTopics: true, sharedTopics: true} {
		o := Defaults()
		o.URL, o.Topics = "mqtt://127.0.0.1:1883", topics
		err := o.Check(p)
		if !refused {
			assert.NoError(t, err, topics)
			continue
		}
		assert.ErrorContains(t, err, `the filter of flow "direct" also holds the target "user/vip" of flow "vip"`)
	}
}

func TestAConnectionHoldsWhatItHasSubscribedTo(t *testing.T) {
	t.Parallel()
	p := &profile.Profile{Connections: 5, Flows: []profile.Flow{
		{Name: "direct", Target: "user", Targets: 7, Deliveries: 1},
		{Name: "room", Target: "room", Targets: 3, Deliveries: 4},
	}}
	numbers := profile.NewTargets(p.Flows)
	for _, kind := range []string{exactTopics, wildcardTopics} {
		o := Options{Topics: kind}
		for connection, filters := range o.filters(p, "run1") {
			for target := range numbers.Total() {
				name := numbers.Name(target)
				family, _, _ := strings.Cut(name, "/")
				assert.Equal(t, slices.Contains(filters, name) || slices.Contains(filters, family+"/+"),
					o.holds(numbers, target, connection, p.Subscribers()), "%s: %s on connection %d", kind, name, connection)
			}
		}
	}
}

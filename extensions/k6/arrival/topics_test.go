package arrival

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

func TestTopicsOfEachConnection(t *testing.T) {
	t.Parallel()
	o := &options{MQTT: mqttOptions{Prefix: "m/"}, profile: &profile.Profile{Flows: []profile.Flow{
		{Name: "direct", Target: "user", Targets: 2, Deliveries: 1}, {Name: "again", Target: "user", Targets: 2, Deliveries: 1},
		{Name: "room", Target: "room", Targets: 1, Deliveries: 2},
	}}}
	assert.Equal(t, [][]string{{"m/user/0", "m/room/0"}, {"m/user/1", "m/room/0"}}, o.topics("run1", ""))
	o.MQTT.Topics = wildcardTopics
	assert.Equal(t, [][]string{{"m/user/+", "m/room/+"}, {"m/room/+"}}, o.topics("run1", ""))
	o.MQTT.Topics = sharedTopics
	shared := []string{"$share/arrival-run1/m/user/+", "$share/arrival-run1/m/room/+"}
	assert.Equal(t, [][]string{shared, shared}, o.topics("run1", ""), "another run's group would take a share")
}

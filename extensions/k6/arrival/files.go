package arrival

import (
	"fmt"

	"github.com/arrival-bench/arrival/extensions/k6/internal/segment"
)

// spareFiles is for what a process opens besides its connections: standard streams, the run's files, Redis,
// DNS, the canary.
const spareFiles = 64

// checkFiles refuses a run that needs more connections than this process may open files, before anything is
// connected.
func (o *options) checkFiles(part *segment.Segment, limit uint64) error {
	senders := o.Senders * o.InFlight
	role := "senders"
	switch {
	case o.Publishers != nil:
		senders, role = o.Publishers.Connections, "publishers"
	case o.profile.Closed():
		senders = o.profile.Most()
	}
	senders, each := part.Scale(senders), ""
	connections := senders
	if o.SenderConnections > 1 {
		connections, each = senders*o.SenderConnections, fmt.Sprintf(" with %d connections each", o.SenderConnections)
	}
	subscribers := max(o.profile.Subscribers(), o.MQTT.Connections, o.MQTT.Brokers())
	if needed := uint64(connections + subscribers + spareFiles); needed > limit {
		return fmt.Errorf("%d %s%s and %d subscribers need %d open files, and this process may have %d: ulimit -n %d, or fewer of them",
			senders, role, each, subscribers, needed, limit, needed)
	}
	return nil
}

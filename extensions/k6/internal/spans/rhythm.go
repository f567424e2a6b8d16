package spans

import "time"

// rhythm is how often the services of a pipeline export. An exporter, or a collector before it, gathers spans for a
// while, so the last spans of a run come that long after its last message.
type rhythm struct {
	last    map[uint16]time.Time // export, by the number of the service's name
	longest time.Duration        // between two exports of a service, or before its first one
}

// hear notes an export of a service. opened is since when it could come.
func (r *rhythm) hear(service uint16, opened time.Time) {
	if r.last == nil {
		r.last = map[uint16]time.Time{}
	}
	before, known := r.last[service]
	if !known {
		before = opened
	}
	now := time.Now()
	r.longest = max(r.longest, now.Sub(before))
	r.last[service] = now
}

// Between is the longest time between two exports of a service so far, or before its first one.
func (k *Keeper) Between() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.rhythm.longest
}

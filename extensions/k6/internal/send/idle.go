package send

import (
	"slices"
	"sync"
	"time"
)

// Idle holds connections between requests. Several Posters may share one. The connection that was idle for the shortest
// time is used next: in turn, at a low rate, each would be idle for longer than servers keep it.
type Idle struct {
	mu    sync.Mutex
	links []*link // by the time of their last use, ascending
}

// idleMost is how long an idle connection is kept: less than servers keep it (Node 5 s, Fastify 72 s).
const idleMost = 4 * time.Second

// take returns the open connection that was used last; nil: there is none.
func (i *Idle) take(now time.Time) *link {
	for {
		i.mu.Lock()
		n := len(i.links)
		if n == 0 {
			i.mu.Unlock()
			return nil
		}
		l := i.links[n-1]
		i.links[n-1] = nil
		i.links = i.links[:n-1]
		i.mu.Unlock()
		switch {
		case l.expired(now): // so are those before it
			go i.sweep(now)
			l.hangUp()
			return nil
		case !l.closed():
			return l
		}
		l.hangUp()
	}
}

// put keeps a connection that was in use until now, and closes those that were idle for too long.
func (i *Idle) put(l *link, now time.Time) {
	l.used = now
	i.mu.Lock()
	i.links = append(i.links, l)
	old := len(i.links) > 1 && i.links[0].expired(now)
	i.mu.Unlock()
	if old {
		i.sweep(now)
	}
}

// sweep closes those that were idle for too long.
func (i *Idle) sweep(now time.Time) {
	i.mu.Lock()
	n := 0
	for n < len(i.links) && i.links[n].expired(now) {
		n++
	}
	old := slices.Clone(i.links[:n])
	i.links = slices.Delete(i.links, 0, n)
	i.mu.Unlock()
	for _, one := range old {
		one.hangUp()
	}
}

func (l *link) expired(now time.Time) bool { return now.Sub(l.used) > idleMost }

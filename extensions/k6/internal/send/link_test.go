package send

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// idleLink is a link whose other end counts as open.
func idleLink(t *testing.T) *link {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = theirs.Close() })
	return &link{Conn: ours}
}

// Regression: 64 senders in turn at less than 16 requests/s had each connection idle for 4 s, so each request opened
// one.
func TestTheConnectionThatWasIdleForTheShortestTimeIsUsedNext(t *testing.T) {
	t.Parallel()
	var idle Idle
	first, second := idleLink(t), idleLink(t)
	now := time.Now()
	idle.put(first, now)
	idle.put(second, now.Add(time.Second))
	now = now.Add(2 * time.Second)
	assert.Same(t, second, idle.take(now))
	idle.put(second, now)
	assert.Same(t, second, idle.take(now))
	assert.Same(t, first, idle.take(now))
	assert.Nil(t, idle.take(now))
}

func TestAConnectionThatWasIdleForLongIsClosed(t *testing.T) {
	t.Parallel()
	var idle Idle
	old, used := idleLink(t), idleLink(t)
	now := time.Now()
	idle.put(old, now)
	now = now.Add(idleMost + time.Second)
	idle.put(used, now)
	_, err := old.Write(nil)
	assert.Error(t, err, "closed when another one was put beside it")
	assert.Nil(t, idle.take(now.Add(idleMost+time.Second)))
	_, err = used.Write(nil)
	assert.Error(t, err)
}

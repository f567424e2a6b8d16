package engine

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// closed is a network that lets connections through from the nth on.
type closed struct {
	mu     sync.Mutex
	opens  int
	dialed []string
}

func (c *closed) DialContext(_ context.Context, _, address string) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dialed = append(c.dialed, address)
	if len(c.dialed) < c.opens {
		return nil, errors.New("refused")
	}
	ours, theirs := net.Pipe()
	return ours, theirs.Close()
}

// Regression: network policies reached new pods late, and all generators gave up at once.
func TestAnInstanceWaitsForItsServers(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Redis: &fake.Redis{}}
	test.Start(t, f)
	s := newSegment(t, f, unequalSegments[0], unequalSequence, steady, "runId: 'abcd1234'")
	e := s.engine
	late := &closed{opens: 2}
	require.NoError(t, e.awaitServers(t.Context(), network.Network{Dialer: late}))
	assert.Len(t, late.dialed, 4)
	assert.Len(t, slices.Compact(late.dialed), 3, "Redis, the broker and the ingest, and the first one twice")

	e.options.Gather = seconds(time.Millisecond)
	never := &closed{opens: 1_000}
	err := e.awaitServers(t.Context(), network.Network{Dialer: never})
	assert.ErrorContains(t, err,
		"redis.url (REDIS_URL) "+never.dialed[0]+" does not accept a connection within 1ms (gather, GATHER): refused")

	stopped, stop := context.WithCancel(t.Context())
	stop()
	e.options.Gather = seconds(time.Minute)
	assert.ErrorIs(t, e.awaitServers(stopped, network.Network{Dialer: never}), errStopped)
}

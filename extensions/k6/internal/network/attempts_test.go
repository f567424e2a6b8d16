package network

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// swallower is a dialer whose first attempts get no answer.
type swallower struct {
	swallows int
	lasted   []time.Duration // how long each attempt lasted
}

func (s *swallower) DialContext(ctx context.Context, protocol, _ string) (net.Conn, error) {
	since := time.Now()
	if len(s.lasted) < s.swallows {
		<-ctx.Done()
		s.lasted = append(s.lasted, time.Since(since))
		return nil, &net.OpError{Op: "dial", Net: protocol, Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)},
			Err: ctx.Err()}
	}
	s.lasted = append(s.lasted, 0)
	conn, _ := net.Pipe()
	return conn, nil
}

// Regression: a subscriber waited for ten seconds for the address of a broker's former pod, and what the relays
// published meanwhile was lost.
func TestAnAddressThatSwallowsPacketsIsTriedAgainSoon(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		swallows int
		within   time.Duration
		lasted   []time.Duration
		class    string
	}{
		{1, time.Minute, []time.Duration{2 * time.Second, 0}, ""},
		{3, time.Minute, []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 0}, ""}, // a slow network
		{9, 5 * time.Second, []time.Duration{2 * time.Second, 3 * time.Second}, "timeout"},
		{9, time.Second, []time.Duration{time.Second}, "timeout"},
		{9, time.Hour, []time.Duration{2e9, 4e9, 8e9, 16e9}, "timeout"},
	} {
		synctest.Test(t, func(t *testing.T) {
			dialer := &swallower{swallows: c.swallows}
			ctx, cancel := context.WithTimeout(t.Context(), c.within)
			defer cancel()
			conn, err := Network{Dialer: dialer}.DialContext(ctx, "tcp", "broker:1883")
			assert.Equal(t, c.lasted, dialer.lasted)
			if c.class != "" {
				assert.Equal(t, c.class, ClassOf(err))
				return
			}
			require.NoError(t, err)
			assert.NoError(t, conn.Close())
		})
	}
}

// A caller who gives up is not kept waiting.
func TestACanceledConnectionIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dialer := &swallower{swallows: 9}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := Network{Dialer: dialer}.DialContext(ctx, "tcp", "broker:1883")
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, []time.Duration{time.Second}, dialer.lasted)
	})
}

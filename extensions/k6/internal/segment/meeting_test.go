package segment

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// meetings are two of one run, at a moment that the test sets, in the Redis that tests have and in a real one.
func meetings(t *testing.T, check func(t *testing.T, now *int64, one, two, another *Meeting)) {
	f := &fake.Pipeline{Redis: &fake.Redis{}}
	test.Start(t, f)
	for name, address := range map[string]string{"fake": f.Redis.URL(), "real": test.Redis(t)} {
		t.Run(name, func(t *testing.T) {
			o, err := redis.ParseURL(address)
			require.NoError(t, err)
			client := redis.NewClient(o)
			t.Cleanup(func() { _ = client.Close() })
			moment := int64(1_795_317_447_755_881)
			of := func(number int, token string) *Meeting {
				return &Meeting{client: client, run: "abcd1234", startDelay: StartDelay, number: number, of: 2, token: token, now: func() int64 { return moment }}
			}
			check(t, &moment, of(1, "one"), of(2, "two"), of(1, "another"))
		})
	}
}

func ready(t *testing.T, m *Meeting) (state, there string) {
	t.Helper()
	p, err := m.Ready(t.Context())
	require.NoError(t, err)
	assert.Equal(t, p.Start != 0, p.State == "started" || p.State == "late")
	return p.State, strings.Join(p.Present, " ")
}

// An instance that was killed while it waited counted as ready for a day: the others began without it, and it could not come back.
func TestWhoIsNotThereAnyMoreIsNotReady(t *testing.T) {
	t.Parallel()
	meetings(t, func(t *testing.T, now *int64, one, two, another *Meeting) {
		is := func(m *Meeting, state, there string) {
			t.Helper()
			gotState, gotThere := ready(t, m)
			assert.Equal(t, []string{state, there}, []string{gotState, gotThere})
		}
		is(one, "waits", "1")
		*now += readyFor.Microseconds() - 1
		is(another, "taken", fmt.Sprintf("one %d", *now+1))
		is(one, "waits", "1")
		*now += readyFor.Microseconds()
		is(two, "waits", "2")
		is(another, "started", "")
		is(two, "started", "")
		is(one, "late", "")
	})
}

// One looked, gave up and withdrew while the last one came in between: that one began alone.
func TestWhoIsCountedOnDoesNotLeave(t *testing.T) {
	t.Parallel()
	meetings(t, func(t *testing.T, now *int64, one, two, another *Meeting) {
		leaves := func(m *Meeting) int64 {
			t.Helper()
			start, err := m.Leave(t.Context())
			require.NoError(t, err)
			return start
		}
		_, _ = ready(t, one)
		assert.Zero(t, leaves(one))
		state, there := ready(t, two)
		assert.Equal(t, []string{"waits", "2"}, []string{state, there})
		_, _ = ready(t, one)
		assert.Equal(t, *now+StartDelay.Microseconds(), leaves(two), "it takes part")
		assert.Zero(t, leaves(another)-leaves(one), "the start stays")
		ttl, err := one.client.TTL(t.Context(), Keys+"abcd1234").Result()
		require.NoError(t, err)
		assert.InDelta(t, kept.Seconds(), ttl.Seconds(), 3600)
	})
}

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

// meetings runs a check with a run's two instances, on the fake and on a real Redis. another is a
// second instance 1. The check sets the time.
func meetings(t *testing.T, check func(t *testing.T, now *int64, one, two, another *Meeting)) {
	f := &fake.Pipeline{Redis: &fake.Redis{}}
	test.Start(t, f)
	for name, address := range map[string]string{"fake": f.Redis.URL(), "real": test.Redis(t)} {
		t.Run(name, func(t *testing.T) {
			o, err := redis.ParseURL(address)
			require.NoError(t, err)
			client := redis.NewClient(o)
			t.Cleanup(func() { _ = client.Close() })
			now := int64(1_795_317_447_755_881)
			of := func(number int, token string) *Meeting {
				return &Meeting{
					client: client, run: "abcd1234", startDelay: StartDelay, number: number, of: 2, token: token,
					now: func() int64 { return now },
				}
			}
			check(t, &now, of(1, "one"), of(2, "two"), of(1, "another"))
		})
	}
}

func ready(t *testing.T, m *Meeting) (state, present string) {
	t.Helper()
	p, err := m.Ready(t.Context())
	require.NoError(t, err)
	assert.Equal(t, p.Start != 0, p.State == "started" || p.State == "late")
	return p.State, strings.Join(p.Present, " ")
}

// Regression: an instance killed while it waited counted as ready for a day. The others started
// without it, and it could not rejoin.
func TestAKilledInstanceIsNotReady(t *testing.T) {
	t.Parallel()
	meetings(t, func(t *testing.T, now *int64, one, two, another *Meeting) {
		expect := func(m *Meeting, state, present string) {
			t.Helper()
			gotState, gotPresent := ready(t, m)
			assert.Equal(t, []string{state, present}, []string{gotState, gotPresent})
		}
		expect(one, "waits", "1")
		*now += readyFor.Microseconds() - 1
		expect(another, "taken", fmt.Sprintf("one %d", *now+1))
		expect(one, "waits", "1")
		*now += readyFor.Microseconds()
		expect(two, "waits", "2")
		expect(another, "started", "")
		expect(two, "started", "")
		expect(one, "late", "")
	})
}

// Regression: the last instance came while another one gave up and withdrew, and started alone.
func TestAnInstanceCannotLeaveAfterTheStartIsSet(t *testing.T) {
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
		state, present := ready(t, two)
		assert.Equal(t, []string{"waits", "2"}, []string{state, present})
		_, _ = ready(t, one)
		assert.Equal(t, *now+StartDelay.Microseconds(), leaves(two), "it takes part")
		assert.Zero(t, leaves(another)-leaves(one), "the start does not change")
		ttl, err := one.client.TTL(t.Context(), Keys+"abcd1234").Result()
		require.NoError(t, err)
		assert.InDelta(t, kept.Seconds(), ttl.Seconds(), 3600)
	})
}

package clock

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The pipeline uses the same estimator, so both share these vectors.
func TestEstimateAgreesWithThePipeline(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../../../reports/contract/clock.vectors.json")
	require.NoError(t, err)
	var vectors []struct {
		Name    string
		Samples []Sample
		At      float64
		Offset  float64 `json:"offset_us"`
		Bound   float64 `json:"bound_us"`
		Drift   float64 `json:"drift_ppm"`
		Kept    int
	}
	require.NoError(t, json.Unmarshal(data, &vectors))
	require.NotEmpty(t, vectors)
	const tolerance = 1e-3 // µs and ppm
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			e := Of(v.Samples, v.At)
			assert.InDelta(t, v.Offset, e.Used(v.At), tolerance)
			assert.InDelta(t, v.Bound, e.Bound(v.At), tolerance)
			assert.InDelta(t, v.Drift, e.drift()*1e6, tolerance)
			assert.Equal(t, v.Kept, e.Kept)
		})
	}
}

// simulate probes a reference with the offset truth, one round per 250 ms. Delays are random.
func simulate(c *Clock, random *rand.Rand, rounds int, truth func(own float64) float64, check func(now float64)) {
	now := 1_763_700_000_000_000.0
	for range rounds {
		there, back := random.ExpFloat64()*200, random.ExpFloat64()*200
		s := Sample{T0: now, T1: now + there + back}
		s.Server = float64(int64(s.T0 + there + truth(s.T0+there)))
		c.add(s, s.T1)
		for range 5 {
			check(s.T1 + random.Float64()*250_000)
		}
		now += 250_000
	}
}

// The reference is read between T0 and T1, so the true offset is within the bound at any delay.
func TestTheTrueOffsetIsWithinTheBound(t *testing.T) {
	t.Parallel()
	for _, ppm := range []float64{0, 0.5, 15, 50, -50, 100} {
		for _, ahead := range []float64{0, 300, 500_000, -500_000} {
			c := New()
			random := rand.New(rand.NewPCG(1, uint64(int64(ahead+ppm*7))))
			truth := func(own float64) float64 { return ahead + ppm*1e-6*(own-1_763_700_000_000_000) }
			simulate(c, random, 200, truth, func(now float64) {
				require.InDelta(t, truth(now), c.current.Used(now), c.current.Bound(now)+0.5, "%v ahead, %v ppm",
					ahead, ppm)
			})
			assert.Less(t, c.current.Bound(c.current.At), 60.0, "the fastest round trips set the bound")
			if ppm >= 15 || ppm <= -15 {
				assert.InDelta(t, ppm, c.Read().Drift, 3, "%v ahead", ahead)
			}
		}
	}
}

// Regression: a stamp that waited in a backlog was corrected by the offset at its arrival. At 50
// ppm it was 1 ms off after 20 s.
func TestAnOldStampIsCorrectedByTheOffsetOfItsTime(t *testing.T) {
	t.Parallel()
	const began = 1_763_700_000_000_000
	truth := func(own float64) float64 { return 500_000 + 50e-6*(own-began) }
	c := New()
	simulate(c, rand.New(rand.NewPCG(5, 5)), 120, truth, func(float64) {})
	back := c.Back()
	for _, own := range []float64{began + 1e6, began + 10e6, began + 30e6} {
		stamp := own + truth(own)
		assert.InDelta(t, own, stamp+float64(back(int64(stamp))), c.Read().Bound)
	}
	assert.Zero(t, New().Back()(began), "without a reference")
	assert.Positive(t, c.Bound())
	assert.Zero(t, New().Bound(), "without a reference")
}

func TestTheBoundGrowsWhileTheReferenceIsAway(t *testing.T) {
	t.Parallel()
	c := New()
	c.add(Sample{c.own() - 600e6 - 40, c.own() - 600e6, c.own() - 600e6}, c.own()-600e6)
	assert.GreaterOrEqual(t, c.Read().Bound, 60_000.0, "100 ppm of 600 s")
}

func TestOneHostHasOneClock(t *testing.T) {
	t.Parallel()
	c := New()
	simulate(c, rand.New(rand.NewPCG(7, 7)), 100, func(float64) float64 { return 0 }, func(now float64) {
		require.Zero(t, c.current.Used(now))
	})
	assert.Zero(t, c.Read().Drift)
	assert.Zero(t, c.Bound(), "stages of one clock are exact")
}

func TestAStepOfTheReferenceIsFollowed(t *testing.T) {
	t.Parallel()
	c := New()
	steps := 0
	truth := func(own float64) float64 {
		if own >= 1_763_700_000_000_000+50*250_000 {
			return 1_000_000
		}
		return 0
	}
	simulate(c, rand.New(rand.NewPCG(3, 3)), 100, truth, func(float64) { steps++ })
	assert.InDelta(t, 1_000_000, c.current.Used(c.current.At), c.current.Bound(c.current.At))
	assert.Len(t, c.window, 50, "the rounds before the step are discarded")
	assert.InDelta(t, 1_000_000, c.Read().Step, 1000)
	assert.GreaterOrEqual(t, c.Read().Bound, 1_000_000.0, "stamps were off by the step until it was detected")
}

func TestTheOwnClockIsTheWallClockAtItsStart(t *testing.T) {
	t.Parallel()
	c := New()
	at := c.base.Add(1500 * time.Microsecond)
	assert.Equal(t, c.base.UnixMicro()+1500, c.At(at))
	assert.Zero(t, c.Offset(c.Now()), "without a reference")
}

// scripted answers TIME in place of Redis. Each question has the next delays, there and back.
type scripted struct {
	ahead  atomic.Int64 // ns
	delays [][2]time.Duration
	asked  int
	fails  atomic.Int64 // the question that fails, from 1; 0: none; below 0: all
}

// reference returns a reference that is ahead, with delays for its questions in turn.
func reference(ahead time.Duration, delays ...[2]time.Duration) *scripted {
	s := &scripted{delays: delays}
	s.ahead.Store(int64(ahead))
	return s
}

func (s *scripted) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *scripted) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (s *scripted) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		delay := s.delays[s.asked%len(s.delays)]
		s.asked++
		if fails := s.fails.Load(); fails == int64(s.asked) || fails < 0 {
			err := errors.New("away")
			cmd.SetErr(err)
			return err
		}
		time.Sleep(delay[0])
		cmd.(*redis.TimeCmd).SetVal(time.Now().Add(time.Duration(s.ahead.Load())))
		time.Sleep(delay[1])
		return nil
	}
}

// virtual runs a test in virtual time.
func virtual(t *testing.T, s *scripted, test func(*testing.T, *Clock, *redis.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", MaxRetries: -1})
		defer func() { require.NoError(t, client.Close()) }()
		client.AddHook(s)
		test(t, New(), client)
	})
}

// A sample is off by up to half its round trip, so only the shortest of a round counts.
func TestTheShortestRoundTripOfARoundCounts(t *testing.T) {
	t.Parallel()
	const questions = 8
	for position := range questions {
		s := reference(time.Hour)
		for i := range questions {
			delay := [2]time.Duration{time.Duration(i+2) * time.Millisecond}
			if i%2 == 1 { // the slow direction alternates
				delay[0], delay[1] = delay[1], delay[0]
			}
			s.delays = append(s.delays, delay)
		}
		s.delays[position] = [2]time.Duration{500 * time.Microsecond, 500 * time.Microsecond}
		virtual(t, s, func(t *testing.T, c *Clock, client *redis.Client) {
			require.NoError(t, c.Probe(t.Context(), client))
			assert.Equal(t, questions, s.asked)
			assert.InDelta(t, time.Hour.Microseconds(), c.Offset(c.Now()), 1, position)
			assert.InDelta(t, 500, c.Read().Bound, 10,
				"half the round trip, and the drift until the end of the round: %d", position)
		})
	}
}

func TestARoundWithoutAnAnswerIsLeftOut(t *testing.T) {
	t.Parallel()
	s := reference(time.Second, [2]time.Duration{time.Millisecond, time.Millisecond})
	virtual(t, s, func(t *testing.T, c *Clock, client *redis.Client) {
		require.NoError(t, c.Probe(t.Context(), client))
		known := c.current
		s.ahead.Store(int64(time.Hour))
		s.fails.Store(int64(s.asked + asked))
		require.ErrorContains(t, c.Probe(t.Context(), client), "redis TIME: away")
		assert.Equal(t, known, c.current)
		assert.Equal(t, 1, c.Read().Rounds)
	})
}

func TestAnOldShortRoundTripStillCounts(t *testing.T) {
	t.Parallel()
	s := reference(0, [2]time.Duration{250 * time.Microsecond, 250 * time.Microsecond})
	virtual(t, s, func(t *testing.T, c *Clock, client *redis.Client) {
		require.NoError(t, c.Probe(t.Context(), client))
		s.delays[0] = [2]time.Duration{10 * time.Millisecond, 10 * time.Millisecond}
		for range 2 * kept {
			time.Sleep(period)
			require.NoError(t, c.Probe(t.Context(), client))
		}
		assert.Len(t, c.window, kept)
		assert.Less(t, c.current.Bound(c.own()), 5000.0, "half of a recent round trip is 10,000 µs")
	})
}

func TestTheJudgedReadingIsReported(t *testing.T) {
	t.Parallel()
	virtual(t, reference(time.Second, [2]time.Duration{time.Millisecond, time.Millisecond}),
		func(t *testing.T, c *Clock, client *redis.Client) {
			require.NoError(t, c.Probe(t.Context(), client))
			c.End()
			judged := c.Read()
			require.Equal(t, 1, judged.Rounds)
			time.Sleep(time.Minute)
			require.NoError(t, c.Probe(t.Context(), client))
			assert.Equal(t, judged, c.Read())
		})
}

func TestKeepProbesUntilTheRunEnds(t *testing.T) {
	t.Parallel()
	s := reference(time.Second, [2]time.Duration{time.Millisecond, time.Millisecond})
	virtual(t, s, func(t *testing.T, c *Clock, client *redis.Client) {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			c.Keep(ctx, client)
			close(ended)
		}()
		pass := func(rounds int) {
			time.Sleep(time.Duration(rounds) * period)
			synctest.Wait()
		}
		time.Sleep(period / 2) // between two rounds from now on
		for round := range 10 {
			assert.Equal(t, round, c.Read().Rounds)
			pass(1)
		}
		assert.InDelta(t, 1e6, c.Offset(c.Now()), 1)

		s.ahead.Store(int64(2 * time.Second))
		pass(1)
		assert.InDelta(t, 2e6, c.Offset(c.Now()), 1, "the reference was stepped")

		c.Begin()
		near := c.Read().Bound
		s.fails.Store(-1)
		pass(100)
		assert.Equal(t, 11, c.Read().Rounds)
		assert.InDelta(t, 2e6, c.Offset(c.Now()), 1, "the last estimate stays in use")
		assert.InDelta(t, near+1000, c.Read().Bound, 20, "100 ppm of 10 s")
		s.fails.Store(0)
		pass(1)
		assert.Equal(t, 12, c.Read().Rounds)
		c.Begin()
		assert.InDelta(t, near, c.Read().Bound, 20, "the reference is back")

		stop()
		<-ended
		pass(10)
		assert.Equal(t, 12, c.Read().Rounds)
	})
}

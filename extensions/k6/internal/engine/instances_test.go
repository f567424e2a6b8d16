package engine

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/segment"
	"github.com/arrival-bench/arrival/extensions/k6/internal/store"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

func TestNothingIsSentIfAnInstanceIsMissing(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Redis: &fake.Redis{}}
	test.Start(t, f)
	const options = "runId: 'abcd1234', gather: '5s'"
	two := newSegment(t, f, unequalSegments[1], unequalSequence, steady, options)
	err := two.engine.collect(t.Context(), two.state, two.metrics)
	require.EqualError(t, err,
		"1 of 3 instances of the run abcd1234 were ready within 5s, so nothing was sent; missing: generator 1, generator 3")
	// Generator 2 has withdrawn: an instance that starts later does not find it.
	one := newSegment(t, f, unequalSegments[0], unequalSequence, steady, options)
	err = one.engine.collect(t.Context(), one.state, one.metrics)
	require.ErrorContains(t, err, "missing: generator 2, generator 3")
	assert.Zero(t, f.Requests())
}

func TestARunBeginsOnce(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Redis: &fake.Redis{}}
	test.Start(t, f)
	one := newSegment(t, f, unequalSegments[0], unequalSequence, steady, "runId: 'abcd1234', gather: 60")
	e := one.engine
	client, err := store.Open(t.Context(), e.trust.Of(one.state), e.options.Redis.URL, "", e.Clock)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	ctx, disconnect := context.WithCancel(t.Context())
	t.Cleanup(disconnect)
	left := make(chan error)
	go func() {
		_, err := e.instance.meet(ctx, client)
		left <- err
	}()
	require.Eventually(t, func() bool { return client.Exists(ctx, segment.Keys+"abcd1234").Val() == 1 }, time.Minute,
		time.Millisecond)
	_, err = e.instance.meet(t.Context(), client)
	require.ErrorContains(t, err, "generator 1 of 3 of the run abcd1234 is there already")
	disconnect()
	require.ErrorIs(t, <-left, errStopped)
	assert.Zero(t, client.Exists(t.Context(), segment.Keys+"abcd1234").Val(), "the instance has withdrawn")
	require.NoError(t, client.HSet(t.Context(), segment.Keys+"abcd1234", "start", e.instance.redisNow()-5_000_000).Err())
	_, err = e.instance.meet(t.Context(), client)
	require.Error(t, err)
	assert.Regexp(t,
		`^the run abcd1234 began \d+ s ago: generator 1 of 3 came too late for it, or the id has been used before`,
		err.Error())
}

// The start is a time of Redis' clock, which may differ from this host's.
func TestInstancesBeginByRedisTime(t *testing.T) {
	t.Parallel()
	const ahead = 100 * time.Second
	f := &fake.Pipeline{Redis: &fake.Redis{Clock: fake.Clock{Ahead: ahead}}}
	test.Start(t, f)
	engines := make([]*Engine, 3)
	var work sync.WaitGroup
	for i, one := range unequalSegments {
		s := newSegment(t, f, one, unequalSequence, steady, "runId: 'abcd1234'")
		engines[i] = s.engine
		work.Go(func() {
			client, err := store.Open(t.Context(), engines[i].trust.Of(s.state), engines[i].options.Redis.URL, "",
				engines[i].Clock)
			if assert.NoError(t, err) {
				defer func() { _ = client.Close() }()
				assert.NoError(t, engines[i].instance.setStart(t.Context(), client))
			}
		})
	}
	work.Wait()
	for _, e := range engines {
		require.NotNil(t, e.instance.met)
		assert.Equal(t, engines[0].instance.met.StartUS, e.instance.met.StartUS)
		bound := time.Duration(e.Clock.Read().Bound)*time.Microsecond + time.Millisecond
		assert.InDelta(t, 0, time.UnixMicro(e.instance.met.StartUS).Sub(e.Epoch.Add(ahead)), float64(bound))
	}
}

// Regression: an instance began the next phase once its own requests were answered, while the
// others were still in the previous one.
func TestClosedModelInstancesBeginEachPhaseTogether(t *testing.T) {
	t.Parallel()
	const late = 300 * time.Millisecond
	f := &fake.Pipeline{Redis: &fake.Redis{}, Delay: late}
	test.Start(t, f)
	const phases = `
phases: [{name: one, duration: 60, vus: 1, requests: 5, drain: 60}, {name: two, duration: 60, vus: 6, requests: 61}]
flows: [{name: direct}]`
	var work sync.WaitGroup
	scripts := make([]*script, 3)
	for i, one := range unequalSegments {
		scripts[i] = newSegment(t, f, one, unequalSequence, phases, "runId: 'abcd1234'")
		e := scripts[i].engine
		for range e.segment.Scale(6) {
			work.Go(func() {
				for vu := NewSender(e, scripts[i].state); vu.Send(t.Context()); {
				}
			})
		}
		work.Go(func() { assert.NoError(t, e.collect(t.Context(), scripts[i].state, scripts[i].metrics)) })
	}
	work.Wait()
	requests, begins := [2]int{}, []float64{}
	var first runfile.Step
	for i, s := range scripts {
		s.dir = filepath.Join(s.dir, fmt.Sprintf("generator-%d", i+1))
		r := s.written()
		assert.True(t, r.Account.Balanced)
		assert.Equal(t, r.Account.Scheduled, r.Account.Arrived)
		for phase := range requests {
			requests[phase] += r.Steps[phase].Requests
		}
		begins = append(begins, r.Steps[1].StartS)
		if i == 0 {
			first = r.Steps[0]
		}
		assert.Equal(t, []int{5, 0, 0}[i], r.Steps[0].Requests, "the only VU belongs to the first instance")
	}
	assert.Equal(t, [2]int{5, 61}, requests)
	for _, begin := range begins {
		assert.InDelta(t, begins[0], begin, 0.01, "all begin at the same Redis time")
		assert.GreaterOrEqual(t, begin, first.StartS+first.DurationS+*first.DrainedS)
	}
}

func TestAPhaseBeginsWithoutAMissingInstance(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Redis: &fake.Redis{}}
	test.Start(t, f)
	s := newSegment(t, f, unequalSegments[1], unequalSequence,
		"phases: [{duration: 60, vus: 6, drain: 60}, {name: two, duration: 60, vus: 6}]\nflows: [{name: direct}]",
		"runId: 'abcd1234'")
	e := s.engine
	client, err := store.Open(t.Context(), e.trust.Of(s.state), e.options.Redis.URL, "", e.Clock)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	begin := e.instance.together(t.Context(), client, 1, time.Now())
	assert.False(t, begin.After(time.Now()))
	assert.Equal(t, []string{`phase "two" began without generator 1, generator 3, which had not ended the one before`},
		e.notes.doubts)
	assert.Zero(t, client.Exists(t.Context(), segment.Keys+"abcd1234:1").Val(), "the instance has withdrawn")
	require.NoError(t, client.Close())
	e.instance.together(t.Context(), client, 1, time.Now())
	assert.Contains(t, e.notes.doubts[1], `the instances could not agree on when phase "two" begins: `)
}

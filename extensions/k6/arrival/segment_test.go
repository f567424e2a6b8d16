package arrival

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/lib"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// unequal are a half, a third and a sixth.
const unequal = "0,1/2,5/6,1"

var unequalParts = []string{"0:1/2", "1/2:5/6", "5/6:1"}

func segmentOf(t *testing.T, one, all string) *segment {
	t.Helper()
	s, err := readSegment([]string{"k6", "run", segmentFlag, one, sequenceFlag + "=" + all, "script.js"})
	require.NoError(t, err)
	return s
}

// newSegment is one of several instances.
func newSegment(t *testing.T, f *fake.Pipeline, one, all, profile, options string) *script {
	t.Helper()
	s := newScriptAt(t, f, profile, "redis: { url: 'REDIS' }, "+options, segmentFlag, one, sequenceFlag, all)
	segment := s.module.root.engine.segment.tuple.Segment
	sequence := s.module.root.engine.segment.tuple.Sequence.ExecutionSegmentSequence
	s.state.Options = lib.Options{ExecutionSegment: segment, ExecutionSegmentSequence: &sequence}
	return s
}

func TestASegmentIsReadFromTheCommandLine(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"run", "script.js"}, {segmentFlag, "0:1", sequenceFlag, "0,1"}} {
		s, err := readSegment(flags)
		require.NoError(t, err)
		assert.Nil(t, s, "one instance does all")
	}
	assert.Equal(t, "generator 2 of 3", segmentOf(t, unequalParts[1], unequal).String())
	for want, flags := range map[string][]string{
		"--execution-segment and --execution-segment-sequence say which instance this is": {segmentFlag, "1/3"},
		"--execution-segment 0:x: ":                      {segmentFlag, "0:x", sequenceFlag, "0,1/2,1"},
		"couldn't find segment 0:1/3 in sequence 0,1/2,": {segmentFlag, "0:1/3", sequenceFlag, "0,1/2,1"},
	} {
		_, err := readSegment(flags)
		assert.ErrorContains(t, err, want)
	}
}

// k6 divides what a scenario says among the instances, and gave two of three no subscriber.
func TestScenariosSayWhatIsLeftAfterK6HasDividedIt(t *testing.T) {
	t.Parallel()
	vus, iterations := 0, 0
	shared := map[int]int{}
	for _, one := range unequalParts {
		s := segmentOf(t, one, unequal)
		for n := 1; n < 30; n++ {
			assert.Equal(t, n, s.scale(s.unscale(n)))
			if n > 1 {
				assert.Equal(t, n-1, s.scale(s.unscale(n)-1), "the smallest")
			}
			assert.Equal(t, n, s.scaleShared(s.unscaleShared(n, s.unscale(7)), s.unscale(7)))
		}
		vus += s.scale(64)
		iterations += s.scale(1001)
		for vus := 1; vus < 30; vus++ {
			own := s.scaleShared(1001, vus)
			assert.Equal(t, s.scale(vus) > 0, own > 0, "who has VUs has requests")
			shared[vus] += own
		}
	}
	assert.Equal(t, []int{64, 1001}, []int{vus, iterations})
	for vus, requests := range shared {
		assert.Equal(t, 1001, requests, vus)
	}
}

func TestInstancesSendTogetherWhatOneWould(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Redis: &fake.Redis{}}
	require.NoError(t, f.Start())
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	var work sync.WaitGroup
	scripts, runs := make([]*script, 3), make([]*report.Run, 3)
	for i, one := range unequalParts {
		scripts[i] = newSegment(t, f, one, unequal, steady, "runId: 'abcd1234'")
		e := scripts[i].module.root.engine
		for range 8 {
			work.Go(func() {
				for vu := newSender(e, scripts[i].state); vu.send(t.Context()); {
				}
			})
		}
		work.Go(func() { assert.NoError(t, e.collect(t.Context(), scripts[i].state, scripts[i].module.metrics)) })
	}
	work.Wait()
	scheduled, start := 0, int64(0)
	for i, s := range scripts {
		s.dir = filepath.Join(s.dir, fmt.Sprintf("generator-%d", i+1))
		runs[i] = s.written()
		a, g := runs[i].Account, runs[i].Run.Generator
		assert.True(t, a.Balanced)
		assert.Equal(t, a.Scheduled, a.Arrived)
		assert.Equal(t, a.Deliveries.Due, a.Deliveries.Arrived)
		assert.Zero(t, a.Foreign+a.Duplicates)
		scheduled += a.Scheduled
		require.NotNil(t, g)
		assert.Equal(t, []any{i + 1, 3, unequalParts[i], unequal}, []any{g.Number, g.Of, g.Segment, g.Sequence})
		if start == 0 {
			start = g.StartUS
		}
		assert.Equal(t, start, g.StartUS, "all begin at one moment")
	}
	assert.Equal(t, 150, runs[0].Account.Requests.Sent, "half of 300")
	checkLive(t, f.Redis.URL(), runs)

	// What one instance would have sent: each number once, by the generator that k6 gives it to.
	whole := newScript(t, &fake.Pipeline{}, steady, "").module.root.engine.pacer
	assert.Equal(t, whole.Messages(whole.Requests()), scheduled)
	got := map[string]int{}
	for _, d := range f.Log() {
		got[d.ID]++
	}
	for n := range whole.Requests() {
		slot := whole.Slot(n)
		generator := []int{1, 2, 1, 2, 1, 3}[n%6]
		for i := range slot.Messages {
			id := fmt.Sprintf("abcd1234.%d.%d", generator, slot.FirstSeq+i)
			assert.Equal(t, 1, got[id], id)
			delete(got, id)
		}
	}
	assert.Empty(t, got)
}

// checkLive compares what the instances told as they went with what they have left.
func checkLive(t *testing.T, address string, runs []*report.Run) {
	t.Helper()
	o, err := redis.ParseURL(address)
	require.NoError(t, err)
	client := redis.NewClient(o)
	defer func() { _ = client.Close() }()
	announced, err := client.XRange(t.Context(), liveRuns, "-", "+").Result()
	require.NoError(t, err)
	require.Len(t, announced, 1, "by one of them")
	var identity report.Identity
	require.NoError(t, json.Unmarshal([]byte(announced[0].Values["run"].(string)), &identity))
	assert.Equal(t, []any{"abcd1234", 3, ""}, []any{identity.ID, identity.Generator.Of, identity.Command})

	entries, err := client.XRange(t.Context(), runKeys+"abcd1234:timeline", "-", "+").Result()
	require.NoError(t, err)
	ends, seconds := 0, map[string][]report.Interval{}
	for _, entry := range entries {
		if entry.Values["end"] != nil {
			ends++
			continue
		}
		var row report.Interval
		require.NoError(t, json.Unmarshal([]byte(entry.Values["second"].(string)), &row))
		if row.Arrived > 0 {
			histogram, err := hdrhistogram.Decode([]byte(entry.Values["arrival"].(string)))
			require.NoError(t, err)
			assert.EqualValues(t, row.Arrived, histogram.TotalCount())
		}
		number := entry.Values["number"].(string)
		seconds[number] = append(seconds[number], row)
	}
	assert.Equal(t, 3, ends)
	for i, run := range runs {
		assert.Equal(t, run.Timeline, seconds[strconv.Itoa(i+1)])
	}
}

// With a filter of the script's own each instance gets everything, and leaves the others' messages aside.
func TestWhatAnotherGeneratorHasSentIsNotForeign(t *testing.T) {
	t.Parallel()
	o := &options{ID: "id", profile: newScript(t, &fake.Pipeline{}, twenty, "").module.root.engine.options.profile}
	b := newBodies(o, "abcd1234.2.", "")
	for payload, sibling := range map[string]bool{
		`{"id":"abcd1234.1.17"}`: true, `{"id":"abcd1234.12.17"}`: true, `{"id":"abcd1234.canary.3"}`: false,
		`{"id":"other567.1.17"}`: false, `{"id":"abcd1234."}`: false, `{}`: false,
	} {
		assert.Equal(t, sibling, b.sibling([]byte(payload)), payload)
		_, ok := b.seq([]byte(payload))
		assert.False(t, ok, payload)
	}
}

func TestNothingIsSentWhereAnInstanceIsMissing(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Redis: &fake.Redis{}}
	require.NoError(t, f.Start())
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	const options = "runId: 'abcd1234', gather: '300ms'"
	two := newSegment(t, f, unequalParts[1], unequal, steady, options)
	err := two.module.root.engine.collect(t.Context(), two.state, two.module.metrics)
	require.EqualError(t, err,
		"1 of 3 instances of the run abcd1234 were ready within 300ms, so nothing was sent; missing: generator 1, generator 3")
	// It has withdrawn: whoever comes now does not find it there.
	one := newSegment(t, f, unequalParts[0], unequal, steady, options)
	err = one.module.root.engine.collect(t.Context(), one.state, one.module.metrics)
	require.ErrorContains(t, err, "missing: generator 2, generator 3")
	assert.Zero(t, f.Requests())
}

func TestARunBeginsOnce(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Redis: &fake.Redis{}}
	require.NoError(t, f.Start())
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	one := newSegment(t, f, unequalParts[0], unequal, steady, "runId: 'abcd1234', gather: 60")
	e := one.module.root.engine
	client, err := e.connectRedis(t.Context(), one.state)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	ctx, leave := context.WithCancel(t.Context())
	t.Cleanup(leave)
	left := make(chan error)
	go func() {
		_, err := e.meet(ctx, client)
		left <- err
	}()
	require.Eventually(t, func() bool { return client.Exists(ctx, runKeys+"abcd1234").Val() == 1 }, time.Minute, time.Millisecond)
	_, err = e.meet(t.Context(), client)
	require.ErrorContains(t, err, "generator 1 of 3 of the run abcd1234 is there already")
	leave()
	require.ErrorIs(t, <-left, errStopped)
	assert.Zero(t, client.Exists(t.Context(), runKeys+"abcd1234").Val(), "it has withdrawn")
	require.NoError(t, client.HSet(t.Context(), runKeys+"abcd1234", "start", e.redisNow()-5_000_000).Err())
	_, err = e.meet(t.Context(), client)
	require.Error(t, err)
	assert.Regexp(t, `^the run abcd1234 began \d+ s ago: generator 1 of 3 came too late for it, or the id has been used before`, err.Error())
}

// meetings are two of one run, at a moment that the test sets, in the Redis that tests have and in a real one.
func meetings(t *testing.T, check func(t *testing.T, now *int64, one, two, another *meeting)) {
	f := &fake.Pipeline{Redis: &fake.Redis{}}
	require.NoError(t, f.Start())
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	for name, address := range map[string]string{"fake": f.Redis.URL(), "real": startRedis(t)} {
		t.Run(name, func(t *testing.T) {
			o, err := redis.ParseURL(address)
			require.NoError(t, err)
			client := redis.NewClient(o)
			t.Cleanup(func() { _ = client.Close() })
			moment := int64(1_795_317_447_755_881)
			of := func(number int, token string) *meeting {
				return &meeting{client: client, run: "abcd1234", lead: runLead, number: number, of: 2, token: token, now: func() int64 { return moment }}
			}
			check(t, &moment, of(1, "one"), of(2, "two"), of(1, "another"))
		})
	}
}

func told(t *testing.T, m *meeting) (state, there string) {
	t.Helper()
	p, err := m.ready(t.Context())
	require.NoError(t, err)
	assert.Equal(t, p.start != 0, p.state == "first" || p.state == "started" || p.state == "late")
	return p.state, strings.Join(p.there, " ")
}

// An instance that was killed while it waited counted as ready for a day: the others began without it, and it could not come back.
func TestWhoIsNotThereAnyMoreIsNotReady(t *testing.T) {
	t.Parallel()
	meetings(t, func(t *testing.T, now *int64, one, two, another *meeting) {
		is := func(m *meeting, state, there string) {
			t.Helper()
			gotState, gotThere := told(t, m)
			assert.Equal(t, []string{state, there}, []string{gotState, gotThere})
		}
		is(one, "waits", "1")
		*now += runReady.Microseconds() - 1
		is(another, "taken", fmt.Sprintf("one %d", *now+1))
		is(one, "waits", "1")
		*now += runReady.Microseconds()
		is(two, "waits", "2")
		is(another, "first", "")
		is(two, "started", "")
		is(one, "late", "")
	})
}

// One looked, gave up and withdrew while the last one came in between: that one began alone.
func TestWhoIsCountedOnDoesNotLeave(t *testing.T) {
	t.Parallel()
	meetings(t, func(t *testing.T, now *int64, one, two, another *meeting) {
		leaves := func(m *meeting) int64 {
			t.Helper()
			start, err := m.leave(t.Context())
			require.NoError(t, err)
			return start
		}
		_, _ = told(t, one)
		assert.Zero(t, leaves(one))
		state, there := told(t, two)
		assert.Equal(t, []string{"waits", "2"}, []string{state, there})
		_, _ = told(t, one)
		assert.Equal(t, *now+runLead.Microseconds(), leaves(two), "it takes part")
		assert.Zero(t, leaves(another)-leaves(one), "the start stays")
		ttl, err := one.client.TTL(t.Context(), runKeys+"abcd1234").Result()
		require.NoError(t, err)
		assert.InDelta(t, runKept.Seconds(), ttl.Seconds(), 3600)
	})
}

// The start is a moment of Redis' clock, which need not be this host's.
func TestInstancesBeginByTheClockOfRedis(t *testing.T) {
	t.Parallel()
	const ahead = 100 * time.Second
	f := &fake.Pipeline{Redis: &fake.Redis{Clock: fake.Clock{Ahead: ahead}}}
	require.NoError(t, f.Start())
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	engines := make([]*engine, 3)
	var work sync.WaitGroup
	for i, one := range unequalParts {
		s := newSegment(t, f, one, unequal, steady, "runId: 'abcd1234'")
		engines[i] = s.module.root.engine
		work.Go(func() {
			client, err := engines[i].connectRedis(t.Context(), s.state)
			if assert.NoError(t, err) {
				defer func() { _ = client.Close() }()
				assert.NoError(t, engines[i].setStart(t.Context(), client))
			}
		})
	}
	work.Wait()
	first := 0
	for _, e := range engines {
		require.NotNil(t, e.met)
		assert.Equal(t, engines[0].met.StartUS, e.met.StartUS)
		bound := time.Duration(e.clock.Read().Bound)*time.Microsecond + time.Millisecond
		assert.InDelta(t, 0, time.UnixMicro(e.met.StartUS).Sub(e.epoch.Add(ahead)), float64(bound))
		if e.first {
			first++
		}
	}
	assert.Equal(t, 1, first, "one of them has set it")
}

// Each went on when its own requests had been answered, and measured the next phase while the others were in the last.
func TestInstancesOfTheClosedModelBeginAPhaseTogether(t *testing.T) {
	t.Parallel()
	const late = 300 * time.Millisecond
	f := &fake.Pipeline{Redis: &fake.Redis{}, Delay: late}
	require.NoError(t, f.Start())
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	const phases = `
phases: [{name: one, duration: 60, vus: 1, requests: 5, drain: 60}, {name: two, duration: 60, vus: 6, requests: 61}]
flows: [{name: direct}]`
	var work sync.WaitGroup
	scripts := make([]*script, 3)
	for i, one := range unequalParts {
		scripts[i] = newSegment(t, f, one, unequal, phases, "runId: 'abcd1234'")
		e := scripts[i].module.root.engine
		for range e.segment.scale(6) {
			work.Go(func() {
				for vu := newSender(e, scripts[i].state); vu.send(t.Context()); {
				}
			})
		}
		work.Go(func() { assert.NoError(t, e.collect(t.Context(), scripts[i].state, scripts[i].module.metrics)) })
	}
	work.Wait()
	requests, begins := [2]int{}, []float64{}
	var first report.Step
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
		assert.Equal(t, []int{5, 0, 0}[i], r.Steps[0].Requests, "the one VU is the first one's")
	}
	assert.Equal(t, [2]int{5, 61}, requests)
	for _, begin := range begins {
		assert.InDelta(t, begins[0], begin, 0.01, "at one moment of Redis' clock")
		assert.GreaterOrEqual(t, begin, first.StartS+first.DurationS+*first.DrainedS)
	}
}

func TestAPhaseBeginsWithoutAnInstanceThatDoesNotCome(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Redis: &fake.Redis{}}
	require.NoError(t, f.Start())
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	s := newSegment(t, f, unequalParts[1], unequal,
		"phases: [{duration: 60, vus: 6, drain: 60}, {name: two, duration: 60, vus: 6}]\nflows: [{name: direct}]", "runId: 'abcd1234'")
	e := s.module.root.engine
	client, err := e.connectRedis(t.Context(), s.state)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	begin := e.together(t.Context(), client, 1, time.Now())
	assert.False(t, begin.After(time.Now()))
	assert.Equal(t, []string{`phase "two" began without generator 1, generator 3, which had not ended the one before`}, e.invalid)
	assert.Zero(t, client.Exists(t.Context(), runKeys+"abcd1234:1").Val(), "it has withdrawn")
	require.NoError(t, client.Close())
	e.together(t.Context(), client, 1, time.Now())
	assert.Contains(t, e.invalid[1], `the instances could not agree on when phase "two" begins: `)
}

func TestTheClosedModelIsDividedByItsVUs(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Redis: &fake.Redis{}}
	require.NoError(t, f.Start())
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	four := "phases: [{name: four, duration: 1, vus: 4}]\nflows: [{name: direct}]"
	s := newSegment(t, f, "1/2:1", "0,1/2,1", four, "runId: 'abcd1234'")
	e := s.module.root.engine
	out, err := s.runtime.VU.Runtime().RunString(`JSON.stringify([run.scenarios().sender.vus, run.scenarios().subscriber.vus, run.id])`)
	require.NoError(t, err)
	assert.Equal(t, `[4,2,"abcd1234.2"]`, out.String(), "k6 makes 2 and 1 of them")
	assert.Equal(t, 2, *e.vus(e.options.profile.Phases[0]))
}

func TestWhatCanNotBeDividedIsRefused(t *testing.T) {
	t.Parallel()
	for want, c := range map[string][2]string{
		"runId (RUN_ID) is missing: the 3 instances":    {steady, "redis: { url: 'redis://127.0.0.1:1' }"},
		"redis.url (REDIS_URL) is missing":              {steady, "runId: 'abcd1234'"},
		"generator 3 of 3 would send none of 2":         {"phases: [{duration: 1, arrivalCount: 2}]\nflows: [{name: a}]", ""},
		"generator 3 of 3 would have none of 2 VUs":     {"phases: [{duration: 1, vus: 2}]\nflows: [{name: a}]", ""},
		`runId "A b" (RUN_ID) is the beginning of ever`: {steady, "runId: 'A b'"},
	} {
		options := c[1]
		if options == "" {
			options = "runId: 'abcd1234', redis: { url: 'redis://127.0.0.1:1' }"
		}
		s := newScript(t, &fake.Pipeline{}, twenty, "")
		root := New()
		root.args = []string{segmentFlag, unequalParts[2], sequenceFlag, unequal}
		m, ok := root.NewModuleInstance(s.runtime.VU).(*instance)
		require.True(t, ok)
		rt := s.runtime.VU.Runtime()
		require.NoError(t, rt.Set("Run", m.Exports().Named["Run"]))
		_, err := rt.RunString(fmt.Sprintf(
			`new Run({ profile: %q, ingest: { url: 'http://127.0.0.1:1' }, mqtt: { url: 'mqtt://127.0.0.1:1' }, %s })`, c[0], options))
		assert.ErrorContains(t, err, want)
	}
}

// A segment in a script's options gave this instance senders, and no subscriber.
func TestASegmentFromElsewhereIsRefused(t *testing.T) {
	t.Parallel()
	here := segmentOf(t, unequalParts[1], unequal)
	other := segmentOf(t, unequalParts[0], unequal)
	in := func(s *segment) lib.Options {
		return lib.Options{ExecutionSegment: s.tuple.Segment, ExecutionSegmentSequence: &s.tuple.Sequence.ExecutionSegmentSequence}
	}
	require.NoError(t, here.inEffect(in(here)))
	require.NoError(t, (*segment)(nil).inEffect(lib.Options{}))
	for _, err := range []error{(*segment)(nil).inEffect(in(here)), here.inEffect(in(other)), here.inEffect(lib.Options{})} {
		assert.ErrorContains(t, err, "has to stand on k6's command line")
	}
}

// Memory follows what the instance sends, not what all of them do.
func TestALedgerHoldsNoPlaceForTheOthers(t *testing.T) {
	t.Parallel()
	s := segmentOf(t, "999/1000:1", "0,999/1000,1")
	o := newScript(t, &fake.Pipeline{}, "phases: [{duration: 100, arrivalRate: 10000}]\nflows: [{name: a}]", "").module.root.engine.options
	e := newEngine(o, s)
	last := e.pacer.Slot(e.pacer.Requests() - 1)
	assert.Equal(t, 1000, e.pacer.Requests())
	assert.Equal(t, 999, last.FirstSeq)
	assert.Greater(t, last.FirstID, 900_000)
	assert.Greater(t, last.Due, 90*time.Second)
	assert.Equal(t, 1000, ledger.New(o.profile, e.pacer).Final().Scheduled)
}

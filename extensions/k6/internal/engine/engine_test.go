package engine

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/render"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/segment"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

func TestALostSubscriberEndsTheLoadAndInvalidatesTheRun(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{}
	s := newScript(t, f, "phases: [{duration: 100, arrivalRate: 100}]\nflows: [{name: direct}]",
		"idle: '300ms', drain: 0")
	s.engine.reconnect = 300 * time.Millisecond
	f.Copies = func(nth int) int {
		if nth == 50 {
			f.CloseBroker()
		}
		return 1
	}
	began := time.Now()
	r := s.run()
	assert.Less(t, time.Since(began), 60*time.Second, "the run ends before its schedule")
	assert.Equal(t, runfile.Invalid, r.Verdict.Result)
	assert.Contains(t, r.Verdict.Reasons[0],
		"a subscriber lost its connection, so the rest of the load was not sent: subscriber 1 did not come back: ")
	assert.True(t, r.Account.Balanced)
	assert.Greater(t, r.Account.Dropped, 1000)
	assert.NotNil(t, r.Run.Ended)
	require.Len(t, r.Health.Gaps, 1)
	assert.Nil(t, r.Health.Gaps[0].ToS)
}

func TestAStoppedRunWritesAnIncompleteReport(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, "phases: [{duration: 60, arrivalRate: 10}]\nflows: [{name: direct}]", "")
	ctx, cancel := context.WithCancel(t.Context())
	e := s.engine
	sent := make(chan struct{})
	go func() {
		vu := NewSender(e, s.state)
		for range 3 {
			vu.Send(ctx)
		}
		close(sent)
	}()
	go func() {
		<-sent
		for e.Ledger.Deliveries() == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	require.ErrorIs(t, e.collect(ctx, s.state, s.metrics), errStopped)
	assert.Positive(t, s.written().Account.Arrived, "written without a summary")
	s.summary()
	r := s.written()
	assert.Equal(t, runfile.Incomplete, r.Verdict.Result)
	assert.Nil(t, r.Run.Ended)
	assert.True(t, r.Account.Balanced)
	assert.Positive(t, r.Account.Arrived)
}

// Regression: a run that was killed in its second phase counted all messages of each phase, also of
// one that never began, and divided them by the planned durations.
func TestAStoppedRunCountsOnlyDueMessages(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	f := &fake.Pipeline{Status: func(nth int) int {
		if nth == 40 { // the 20th of the second phase
			cancel()
		}
		return http.StatusAccepted
	}}
	s := newScript(t, f, `
phases:
  - {name: warm-up, duration: 1, arrivalRate: 20, measured: false}
  - {name: hold, duration: 60, arrivalRate: 50}
  - {name: never, duration: 30, arrivalRate: 500}
flows: [{name: direct, weight: 2}, {name: batch, messages: 10}]`, "")
	e := s.engine
	var senders sync.WaitGroup
	for range 4 {
		senders.Go(func() {
			for vu := NewSender(e, s.state); vu.Send(ctx); {
			}
		})
	}
	require.ErrorIs(t, e.collect(ctx, s.state, s.metrics), errStopped)
	senders.Wait()
	clock.SleepUntil(t.Context(), nil, time.Now().Add(200*time.Millisecond)) // ten more fall due
	s.summary()
	r := s.written()

	require.Len(t, r.Steps, 2, "a phase that never began is left out")
	warm, hold := r.Steps[0], r.Steps[1]
	assert.Equal(t, []any{"warm-up", 20, 1.0}, []any{warm.Name, warm.Requests, warm.DurationS})
	assert.Equal(t, "hold", hold.Name)
	assert.Nil(t, hold.Backlog, "the phase has not ended")
	assert.Less(t, hold.DurationS, 60.0)
	assert.InDelta(t, 50*hold.DurationS, float64(hold.Requests), 1.001)
	assert.InDelta(t, float64(hold.Scheduled)/hold.DurationS, hold.ScheduledPerS, 1e-9)
	assert.Equal(t, r.Account.Requests.Scheduled, warm.Requests+hold.Requests)
	assert.Equal(t, r.Account.Scheduled, warm.Scheduled+hold.Scheduled)
	assert.Equal(t, hold.Scheduled, r.Flows[0].Scheduled+r.Flows[1].Scheduled, "flows cover the measured phases")
	require.Len(t, r.Verdict.Reasons, 1)
	assert.Regexp(t, `^the run was cut off at \d+:\d\d of 1:31$`, r.Verdict.Reasons[0])
}

func TestACutOffClosedPhaseHasItsActualDuration(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	f := &fake.Pipeline{Status: func(nth int) int {
		if nth == 30 {
			cancel()
		}
		return http.StatusAccepted
	}}
	s := newScript(t, f,
		"phases: [{name: two, duration: 60, vus: 2}, {name: four, duration: 60, vus: 4}]\nflows: [{name: direct}]", "")
	e := s.engine
	var senders sync.WaitGroup
	for range 4 {
		senders.Go(func() {
			for vu := NewSender(e, s.state); vu.Send(ctx); {
			}
		})
	}
	require.ErrorIs(t, e.collect(ctx, s.state, s.metrics), errStopped)
	senders.Wait()
	s.summary()
	r := s.written()
	require.Len(t, r.Steps, 1)
	two := r.Steps[0]
	assert.Less(t, two.DurationS, 60.0)
	assert.Nil(t, two.Backlog)
	assert.InDelta(t, float64(two.Requests)/two.DurationS, two.ScheduledPerS, 1e-9)
	assert.Equal(t, r.Account.Scheduled, two.Scheduled)
}

// A killed process cannot write its report, so the run writes one before the first message.
func TestAReportIsWrittenBeforeTheFirstMessage(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, "phases: [{duration: 60, arrivalRate: 10}]\nflows: [{name: direct}]", "")
	require.NoError(t, os.MkdirAll(s.dir, 0o755))
	e := s.engine
	e.dir.at = s.dir
	e.Epoch = time.Now()
	rec, err := newRecorder(e)
	require.NoError(t, err)
	defer rec.close()
	assert.Equal(t, runfile.Incomplete, s.written().Verdict.Result)
	page, err := os.ReadFile(filepath.Join(s.dir, "index.html"))
	require.NoError(t, err)
	shown, err := render.Shown(page)
	require.NoError(t, err)
	assert.Equal(t, e.parts.ID, shown.Run.ID)
}

// Regression: the message that a stopped sender had drawn was missing from the account, so the run
// never settled.
func TestAStoppedSenderDropsItsDrawnMessages(t *testing.T) {
	t.Parallel()
	for name, pump := range map[string]bool{"send": false, "pump": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t, &fake.Pipeline{},
				"phases: [{pause: 5}, {duration: 1, arrivalRate: 1}]\nflows: [{name: direct}]", "")
			r := s.runWith(1, func(ctx context.Context, e *Engine) {
				ctx, stop := context.WithCancel(ctx)
				go func() {
					for e.sending.open.Drawn() == 0 {
						time.Sleep(time.Millisecond)
					}
					stop()
				}()
				if pump {
					e.Pump(ctx, s.state)
				} else {
					assert.False(t, NewSender(e, s.state).Send(ctx))
				}
			})
			assert.Equal(t, [2]int{1, 1}, [2]int{r.Account.Scheduled, r.Account.Dropped})
			assert.Contains(t, r.Verdict.Reasons, "the generator never sent 1 of 1 messages")
		})
	}
}

// Any VU may call run.result(), also while the end of the run adds the process metrics.
func TestAReportCanBeReadDuringTheRun(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, "phases: [{duration: 1, arrivalRate: 100}]\nflows: [{name: direct}]", "")
	e := s.engine
	ctx, stop := context.WithCancel(t.Context())
	var reader sync.WaitGroup
	reader.Go(func() {
		<-e.Started // run.result() fails before that
		for often := time.Tick(10 * time.Millisecond); ctx.Err() == nil; <-often {
			assert.NotNil(t, e.report(false).Resources)
		}
	})
	s.run()
	stop()
	reader.Wait()
}

func TestTheReconnectLimitIsAtLeastTheDrain(t *testing.T) {
	t.Parallel()
	for drain, want := range map[string]time.Duration{"0": 30 * time.Second, "'500ms'": 30 * time.Second,
		"'90s'": 90 * time.Second} {
		s := newScript(t, &fake.Pipeline{}, "phases: [{duration: 1, arrivalRate: 1}]\nflows: [{name: direct}]",
			"drain: "+drain)
		assert.Equal(t, want, s.engine.reconnect, drain)
	}
}

// Regression: two runs that began in the same second wrote into the same directory.
func TestEachRunHasItsOwnDirectory(t *testing.T) {
	t.Parallel()
	runs := t.TempDir()
	var dirs []string
	for range 5 {
		s := newScript(t, &fake.Pipeline{}, twenty, fmt.Sprintf("dir: '', runs: %q", filepath.Join(runs, "deep")))
		require.NoError(t, s.engine.dir.create(time.Now()))
		dirs = append(dirs, s.engine.dir.at)
	}
	slices.Sort(dirs)
	assert.Len(t, slices.Compact(dirs), 5, dirs)
	for _, dir := range dirs {
		assert.DirExists(t, dir)
		assert.Regexp(t, `/deep/run-single-loopback-\d{8}T\d{6}Z(-[2-5])?$`, dir)
	}
}

// Regression: `RUN_DIR=dir ./k6 run` overwrote the report of a run in dir.
func TestADirectoryThatHoldsARunIsRefused(t *testing.T) {
	t.Parallel()
	var noFlags []string
	instance2 := []string{segment.SequenceFlag + "=0,1/2,1", segment.Flag + "=1/2:1"}
	for _, c := range []struct {
		exists  string // file in the directory
		flags   []string
		refused bool
	}{
		{"run.json", noFlags, true},
		{"timeline.ndjson", noFlags, true},
		{"index.html", noFlags, true},
		{"generator-2/run.json", noFlags, true},
		{"k6.log", noFlags, false},
		{"run.json", instance2, true},
		{"generator-2/run.json", instance2, true},
		{"generator-2/k6.log", instance2, false},
		{"generator-1/run.json", instance2, false},
	} {
		t.Run(fmt.Sprint(c.exists, len(c.flags)), func(t *testing.T) {
			t.Parallel()
			f := &fake.Pipeline{Redis: &fake.Redis{}}
			test.Start(t, f)
			s := newScriptAt(t, f, twenty, "redis: { url: 'REDIS' }, runId: 'mine', gather: '1ms'", c.flags...)
			path := filepath.Join(s.dir, c.exists)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte("of another"), 0o644))
			err := s.engine.dir.check()
			if !c.refused {
				assert.NoError(t, err)
				require.NoError(t, s.engine.dir.create(time.Now()))
				rec, err := newRecorder(s.engine)
				require.NoError(t, err)
				rec.close()
				return
			}
			require.ErrorContains(t, err, "allowed: a directory that is new or holds no run")
			assert.ErrorContains(t, err, s.dir)
			if c.flags == nil { // with a segment, collect needs k6's options
				require.EqualError(t, s.engine.collect(t.Context(), s.state, s.metrics), err.Error())
			}
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, "of another", string(text))
			entries, err := os.ReadDir(s.dir)
			require.NoError(t, err)
			assert.Len(t, entries, 1)
		})
	}
}

func TestARunThatDoesNotBeginKeepsADirectoryThatExistedBefore(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, twenty, "")
	dir := &s.engine.dir
	require.NoError(t, dir.create(time.Now()))
	file := filepath.Join(s.dir, runfile.TimelineName)
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	require.NoError(t, dir.withdraw())
	assert.NoFileExists(t, file)
	assert.DirExists(t, s.dir)
}

// Both runs find the directory empty.
func TestOnlyOneOfTwoRunsBeginsInADirectory(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, twenty, "")
	e := s.engine
	e.Epoch = time.Now()
	for _, begins := range []bool{true, false} {
		require.NoError(t, e.dir.create(time.Now()))
		rec, err := newRecorder(e)
		if begins {
			require.NoError(t, err)
			t.Cleanup(rec.close)
		} else {
			assert.ErrorContains(t, err, "there is a run in it (timeline.ndjson)")
			assert.Empty(t, e.dir.at, "the summary writes nothing there")
		}
	}
}

// Regression: a silent subscriber was named only if its keep-alive ran out during the run.
// Otherwise the missing messages counted as the pipeline's loss.
func TestASilentSubscriberIsReportedWhenMessagesAreMissing(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{}
	f.Copies = func(nth int) int {
		if nth == 5 {
			f.Silence()
		}
		return 1
	}
	r := newScript(t, f, "phases: [{duration: 1, arrivalRate: 10}]\nflows: [{name: direct}]", "idle: '2s'").run()
	_, reasons, _ := verdict(r)
	assert.Equal(t, runfile.Invalid, r.Verdict.Result)
	require.Len(t, reasons, 2, "and the limit that it leaves undecided")
	assert.Regexp(t, `; subscriber 1 from \d\.\d+ s on: .* silent: no answer to a ping`, reasons[0])
	require.Len(t, r.Health.Gaps, 1)
	assert.Nil(t, r.Health.Gaps[0].ToS)
	assert.Equal(t, 6, r.Account.Lost)
}

// Regression: messages that Redis could not be asked for counted as lost.
func TestMessagesAreUnknownWhenRedisIsDown(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Redis: &fake.Redis{}}
	f.Copies = func(nth int) int {
		if nth == 10 {
			f.Redis.Stop()
		}
		return nth % 2
	}
	r := newScript(t, f, "phases: [{duration: 1, arrivalRate: 10}]\nflows: [{name: direct, targets: 2}]",
		"idle: '2s', redis: { url: 'REDIS' }").run()
	assert.Equal(t, 5, r.Account.Unknown)
	assert.Equal(t, 0, r.Account.Lost)
	assert.True(t, r.Account.Balanced)
	assert.Equal(t, runfile.Invalid, r.Verdict.Result)
	about := slices.DeleteFunc(slices.Clone(r.Verdict.Reasons),
		func(s string) bool { return !strings.Contains(s, "Redis") })
	assert.Len(t, about, 1, "one reason, however many keys there are")
}

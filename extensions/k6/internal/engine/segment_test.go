package engine

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/lib"

	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/segment"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// unequalSequence divides a run into a half, a third and a sixth.
const unequalSequence = "0,1/2,5/6,1"

var unequalSegments = []string{"0:1/2", "1/2:5/6", "5/6:1"}

func segmentOf(t *testing.T, one, all string) segment.Segment {
	t.Helper()
	s, err := segment.Read([]string{segment.Flag, one, segment.SequenceFlag, all})
	require.NoError(t, err)
	return s
}

// newSegment returns the script of the instance that runs segment one of the sequence all.
func newSegment(t *testing.T, f *fake.Pipeline, one, all, profile, options string) *script {
	t.Helper()
	s := newScriptAt(t, f, profile, "redis: { url: 'REDIS' }, "+options, segment.Flag, one, segment.SequenceFlag, all)
	part, err := lib.NewExecutionSegmentFromString(one)
	require.NoError(t, err)
	sequence, err := lib.NewExecutionSegmentSequenceFromString(all)
	require.NoError(t, err)
	s.state.Options = lib.Options{ExecutionSegment: part, ExecutionSegmentSequence: &sequence}
	return s
}

func TestInstancesTogetherSendEachMessageOnce(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Redis: &fake.Redis{}}
	test.Start(t, f)
	var work sync.WaitGroup
	scripts, runs := make([]*script, 3), make([]*runfile.Run, 3)
	for i, one := range unequalSegments {
		scripts[i] = newSegment(t, f, one, unequalSequence, steady, "runId: 'abcd1234'")
		e := scripts[i].engine
		for range 8 {
			work.Go(func() {
				for vu := NewSender(e, scripts[i].state); vu.Send(t.Context()); {
				}
			})
		}
		work.Go(func() { assert.NoError(t, e.collect(t.Context(), scripts[i].state, scripts[i].metrics)) })
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
		assert.Equal(t, []any{i + 1, 3, unequalSegments[i], unequalSequence},
			[]any{g.Number, g.Of, g.Segment, g.Sequence})
		if start == 0 {
			start = g.StartUS
		}
		assert.Equal(t, start, g.StartUS, "all start at the same time")
	}
	assert.Equal(t, 150, runs[0].Account.Requests.Sent, "half of 300")

	// Together they send what one does: each message once, from the generator whose share it is.
	whole := newScript(t, &fake.Pipeline{}, steady, "").engine.Pacer
	assert.Equal(t, whole.Messages(whole.Requests()), scheduled)
	got := map[string]int{}
	for _, d := range f.Log() {
		got[d.ID]++
	}
	for i, s := range scripts {
		for n := range s.engine.Pacer.Requests() {
			slot := s.engine.Pacer.Slot(n)
			for m := range slot.Messages {
				id := fmt.Sprintf("abcd1234.%d.%d", i+1, slot.FirstID+m)
				assert.Equal(t, 1, got[id], id)
				delete(got, id)
			}
		}
	}
	assert.Empty(t, got)
}

// With a custom filter each instance receives all messages and must ignore those of the others.
func TestMessagesOfOtherInstancesAreNotForeign(t *testing.T) {
	t.Parallel()
	o := &Options{ID: "id", profile: newScript(t, &fake.Pipeline{}, twenty, "").engine.options.profile}
	b := body.New(o.messages(), o.profile.Flows, pacer.New(o.profile), "abcd1234.2.", true)
	for payload, sibling := range map[string]bool{
		`{"id":"abcd1234.1.17"}`: true, `{"id":"abcd1234.12.17"}`: true, `{"id":"abcd1234.canary.3"}`: false,
		`{"id":"other567.1.17"}`: false, `{"id":"abcd1234."}`: false, `{}`: false,
	} {
		assert.Equal(t, sibling, b.Sibling([]byte(payload)), payload)
		ok := len(b.Seqs([]byte(payload), nil)) > 0
		assert.False(t, ok, payload)
	}
}

func TestTheClosedModelDividesItsVUs(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Redis: &fake.Redis{}}
	test.Start(t, f)
	four := "phases: [{name: four, duration: 1, vus: 4}]\nflows: [{name: direct}]"
	s := newSegment(t, f, "1/2:1", "0,1/2,1", four, "runId: 'abcd1234'")
	e := s.engine
	scenarios := e.Scenarios(false)
	assert.Equal(t, []any{4, 2}, []any{vusOf(scenarios, "sender"), vusOf(scenarios, "subscriber")},
		"k6 scales them to 2 and 1")
	assert.Equal(t, "abcd1234.2", e.parts.Name)
	assert.Equal(t, 2, *description{run: e}.vus(e.options.profile.Phases[0]))
}

func TestRunsThatCannotBeDividedAreRefused(t *testing.T) {
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
		_, err := made(t, fmt.Sprintf(
			`{ profile: %q, ingest: { url: 'http://127.0.0.1:1' }, mqtt: { url: 'mqtt://127.0.0.1:1' }, %s }`, c[0], options),
			segment.Flag, unequalSegments[2], segment.SequenceFlag, unequalSequence)
		assert.ErrorContains(t, err, want)
	}
}

// The ledger's memory depends on what this instance sends, not on the whole run.
func TestALedgerHoldsOnlyItsInstancesMessages(t *testing.T) {
	t.Parallel()
	s := segmentOf(t, "999/1000:1", "0,999/1000,1")
	o := newScript(t, &fake.Pipeline{}, "phases: [{duration: 100, arrivalRate: 10000}]\nflows: [{name: a}]",
		"").engine.options
	e := New(o, s)
	last := e.Pacer.Slot(e.Pacer.Requests() - 1)
	assert.Equal(t, 1000, e.Pacer.Requests())
	assert.Equal(t, 999, last.FirstSeq)
	assert.Greater(t, last.FirstID, 900_000)
	assert.Greater(t, last.Due, 90*time.Second)
	assert.Equal(t, 1000, ledger.New(o.profile, e.Pacer).Final().Scheduled)
}

// Targets by name are those of all instances, which know each other's messages.
func TestInstancesShareTargetsByName(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Redis: &fake.Redis{}}
	test.Start(t, f)
	const named = "phases: [{duration: 1, arrivalRate: 60}]\nflows: [{name: direct, targets: [a, b, c, d]}]"
	var work sync.WaitGroup
	for _, one := range unequalSegments {
		s := newSegment(t, f, one, unequalSequence, named, "runId: 'abcd1234'")
		e := s.engine
		work.Go(func() {
			for vu := NewSender(e, s.state); vu.Send(t.Context()); {
			}
		})
		work.Go(func() {
			if !assert.NoError(t, e.collect(t.Context(), s.state, s.metrics)) {
				return
			}
			a := e.report(false).Account
			assert.NotZero(t, a.Arrived)
			assert.Equal(t, []int{a.Scheduled, 0, 0}, []int{a.Arrived, a.Foreign, a.Duplicates})
		})
	}
	work.Wait()
}

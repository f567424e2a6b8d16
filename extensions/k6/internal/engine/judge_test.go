package engine

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/hops"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// verdictReasons returns the reasons and doubts of a run of 100 messages, which arrive 10 ms after they are
// sent. Message n is sent late(n) µs late; below 0 it is dropped, and from 1 s on the ingest
// rejects it. The last three wait in the socket for waited µs. harm may damage the run first.
func verdictReasons(t *testing.T, options string, late func(n int) int64, waited int64,
	harm func(e *Engine, rec *recorder)) []string {
	t.Helper()
	s := newScript(t, &fake.Pipeline{}, "phases: [{duration: 1, arrivalRate: 100}]\nflows: [{name: direct}]", options)
	e := s.engine
	e.dir.at, e.Epoch = s.dir, time.Now()
	e.Start()
	epoch := e.Clock.At(e.Epoch)
	for n := range e.Pacer.Requests() {
		slot := e.Pacer.Slot(n)
		sent := epoch + slot.Due.Microseconds() + late(n)
		if late(n) < 0 {
			e.Ledger.Drop(slot)
			continue
		}
		e.Ledger.Sent(slot, sent)
		if late(n) >= 1e6 {
			e.Ledger.Settle(slot, ledger.Rejected)
			continue
		}
		e.Ledger.Settle(slot, ledger.Accepted)
		stamps := hops.Of(sent+1000, sent+2000, sent+3000, sent+4000)
		a := ledger.Arrival{Seq: n, At: sent + 10_000, Stamps: stamps, Stamped: true}
		if n >= e.Pacer.Requests()-3 {
			a.Waited = waited
		}
		e.Ledger.Arrive(0, []ledger.Arrival{a}, nil)
	}
	rec, err := newRecorder(e)
	require.NoError(t, err)
	defer rec.close()
	if harm != nil {
		harm(e, rec)
	}
	v := finish(e, rec)
	return append(append([]string(nil), v.Reasons...), v.Doubts...)
}

// finish ends the run and returns its verdict.
func finish(e *Engine, rec *recorder) runfile.Verdict {
	rec.doubt()
	e.life.finished, e.life.ended = true, time.Now()
	return e.report(false).Verdict
}

func inTime(int) int64 { return 0 }

// Regression: mqtt.qos 0 also excused what a queue had lost, though no message of such a run arrives by MQTT.
func TestQoS0ExcusesLossesOnTheWayByMQTTOnly(t *testing.T) {
	t.Parallel()
	for options, lost := range map[string]bool{"": false, ", queue: { url: 'redis://127.0.0.1:1' }": true} {
		s := newScript(t, &fake.Pipeline{}, "phases: [{duration: 1, arrivalCount: 2}]\nflows: [{name: direct}]",
			"mqtt: { url: 'BROKER', qos: 0 }"+options)
		e := s.engine
		e.dir.at, e.Epoch = s.dir, time.Now()
		e.Start()
		for n := range 2 {
			slot := e.Pacer.Slot(n)
			e.Ledger.Sent(slot, e.Clock.At(e.Epoch.Add(slot.Due)))
			e.Ledger.Settle(slot, ledger.Accepted)
		}
		e.Ledger.Arrive(0, []ledger.Arrival{{Seq: 0, At: e.Clock.At(e.Epoch)}}, nil)
		rec, err := newRecorder(e)
		require.NoError(t, err)
		defer rec.close()
		assert.Equal(t, lost, slices.Contains(finish(e, rec).Reasons,
			"lost: 1 of 2 messages were accepted and never arrived"), options)
		assert.Equal(t, lost, e.judging.builtIn()["arrival_lost"] != nil, "k6's exit code is that of the verdict")
	}
}

func TestTheJudgeGetsTheRunsEvidence(t *testing.T) {
	t.Parallel()
	const clocked = "redis: { url: 'redis://127.0.0.1:1' }, clock: { limit: '1ms' }"
	for name, c := range map[string]struct {
		options string
		late    func(n int) int64
		waited  int64
		harm    func(e *Engine, rec *recorder)
		want    []string
	}{
		"no harm": {"", inTime, 0, nil, nil},
		"late to send": {"", func(int) int64 { return 5000 }, 0, nil, []string{
			"the generator was late: lateness p99 5.00 ms of arrival p99 15.0 ms; no cause is known"}},
		// Regression: such a run was trusted, as the stage schedule has only messages that arrived.
		"late to send what does not arrive": {"", func(n int) int64 { return int64(n%2) * 5e6 }, 0, nil, []string{
			"rejected: 50 of 100 messages", "50 of 100 requests got no 2xx",
			"the generator was late: lateness p99 5,000 ms of arrival p99 10.0 ms; no cause is known"}},
		"unbalanced account": {"mqtt: { url: 'BROKER', connections: 2 }", inTime, 0, func(e *Engine, _ *recorder) {
			// Message 0 is sent twice and arrives at both connections.
			e.Ledger.Sent(e.Pacer.Slot(0), e.Clock.At(e.Epoch))
			e.Ledger.Arrive(1, []ledger.Arrival{{Seq: 0, At: e.Clock.At(e.Epoch) + 10_000}}, nil)
		}, []string{"the account does not balance",
			"unknown: 1 of 100 messages may have been accepted and never arrived"}},
		"late to read": {"", inTime, 6000, nil, []string{
			"the generator was late to read: arrivals waited in the subscriber's socket for up to 6.00 ms (p99) of arrival p99 10.0 ms"}},
		"dropped": {"", func(n int) int64 { return int64(-(n % 2)) }, 0, nil, []string{
			"the generator never sent 50 of 100 messages"}},
		"halted": {"", func(n int) int64 { return int64(-(n % 2)) }, 0, func(e *Engine, _ *recorder) { close(e.Halted) }, nil},
		"samples discarded": {"", inTime, 0, func(e *Engine, _ *recorder) { e.pending.discarded.Add(7) }, []string{
			"k6 did not take 7 samples, so its thresholds are about the others only"}},
		"gaps in the record": {"", inTime, 0, func(_ *Engine, rec *recorder) { rec.note(os.ErrClosed) }, []string{
			"the record of the run has gaps: file already closed"}},
		"unknown clocks": {clocked, inTime, 0, nil, []string{
			"no process of the pipeline reported its clock bound, so the limit on it holds for the generator only"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, verdictReasons(t, c.options, c.late, c.waited, c.harm))
		})
	}
}

// wrongClock is off by more than any delay on a busy machine.
var wrongClock = fake.Clock{Ahead: time.Hour}

// stageDelays leaves no stage below zero if the clocks are known to within 100 ms.
var stageDelays = fake.StageDelays{
	Request: 100 * time.Millisecond, Ingest: time.Millisecond, Queue: time.Millisecond, Relay: time.Millisecond,
	Delivery: 100 * time.Millisecond,
}

func TestStampsOfAnotherClockAreNotTrusted(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Redis: &fake.Redis{}, Delay: stageDelays.Total(), Hops: stageDelays.Stamps(wrongClock)}
	r := newScript(t, f, twenty, "redis: { url: 'REDIS' }").run()
	assert.Equal(t, 20, r.Account.Negative)
	_, reasons, _ := verdict(r)
	assert.Contains(t, reasons, "the clocks disagree: 20 of 20 deliveries have a stage below zero")

	f = &fake.Pipeline{Redis: &fake.Redis{Clock: wrongClock}, Delay: stageDelays.Total(),
		Hops: stageDelays.Stamps(wrongClock)}
	r = newScript(t, f, twenty, "redis: { url: 'REDIS' }").run()
	assert.Zero(t, r.Account.Negative, "all share one clock, however wrong")
	_, reasons, _ = verdict(r)
	assert.NotContains(t, strings.Join(reasons, "\n"), "the clocks disagree")
}

func TestTheClockBoundIsComparedWithItsLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit string
		over  bool
	}{{"10ns", true}, {"1h", false}} {
		f := &fake.Pipeline{Redis: &fake.Redis{}, Delay: stageDelays.Total(), Hops: stageDelays.Stamps(fake.Clock{})}
		r := newScript(t, f, twenty, "redis: { url: 'REDIS' }, clock: { limit: '"+c.limit+"' }").run()
		require.NotNil(t, r.Clock.LimitMS)
		reason := fmt.Sprintf("the clock bound ±%s ms is above the limit of ",
			words.Against(&r.Clock.BoundMS, r.Clock.LimitMS, ""))
		assert.Equal(t, c.over, strings.Contains(strings.Join(r.Verdict.Reasons, "\n"), reason), "limit %s: %s",
			c.limit, r.Verdict.Reasons)
	}
}

func TestMessages30SecondsLateAreDroppedAndReported(t *testing.T) {
	t.Parallel()
	for name, pump := range map[string]bool{"send": false, "pump": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t, &fake.Pipeline{Status: func(int) int { return http.StatusServiceUnavailable }},
				"phases: [{duration: 40, arrivalRate: 0.1}]\nflows: [{name: direct}]", "inFlight: 1")
			e := s.engine
			// The messages are 41, 31, 21 and 11 s late.
			e.dir.at, e.Epoch = s.dir, time.Now().Add(-schedule.LateLimit-11*time.Second)
			e.Start()
			rec, err := newRecorder(e)
			require.NoError(t, err)
			defer rec.close()
			if pump {
				e.Pump(t.Context(), s.state)
			} else {
				for vu := NewSender(e, s.state); vu.Send(t.Context()); {
				}
			}
			assert.Contains(t, finish(e, rec).Reasons, "the generator never sent 2 of 4 messages")
			a := e.Ledger.Final()
			assert.Equal(t, []int{2, 2, 2}, []int{a.Dropped, a.Rejected, a.Requests.Sent})
			assert.True(t, e.Ledger.Settled())
		})
	}
}

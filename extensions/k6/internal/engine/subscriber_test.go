package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive/mqtt"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// through returns JavaScript options for a run through m.
func through(m *mosquitto, mqtt string) string {
	return fmt.Sprintf("ingest: { url: %q }, mqtt: { url: 'mqtt://%s', %s }, canary: true", m.ingest, m.proxy, mqtt)
}

func TestEverySubscriptionModeGetsAllDeliveries(t *testing.T) {
	t.Parallel()
	const five = "phases: [{duration: 1, arrivalRate: 100}]\nflows: [{name: direct, weight: 3}, {name: room, target: room, targets: 4, deliveries: 5}]"
	const one = "phases: [{duration: 1, arrivalRate: 100}]\nflows: [{name: direct, weight: 3}, {name: room, target: room/of, targets: 4}]"
	for name, c := range map[string]struct {
		profile, mqtt string
		deliveries    int
	}{
		"by name":             {five, "", 200},
		"MQTT 3.1.1":          {five, "version: '3.1.1', qos: 0", 200},
		"MQTT 3.1.1 wildcard": {five, "version: '3.1.1', topics: 'wildcard'", 200},
		"QoS 2":               {five, "qos: 2", 200},
		"wildcard":            {five, "topics: 'wildcard', qos: 2", 200},
		"more connections":    {five, "connections: 7", 200},
		"shared":              {one, "topics: 'shared', connections: 3", 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newScript(t, &fake.Pipeline{}, c.profile, through(startMosquitto(t), c.mqtt)).run()
			result, reasons, _ := verdict(r)
			assert.Equal(t, runfile.Pass, result, reasons)
			assert.Equal(t, 100, r.Account.Arrived)
			assert.Equal(t, runfile.Deliveries{Due: c.deliveries, Arrived: c.deliveries}, r.Account.Deliveries)
			assert.Zero(t, r.Account.Duplicates)
			assert.Zero(t, r.Account.Foreign, "each connection gets only its own deliveries")
			require.NotNil(t, r.Canary)
			assert.Equal(t, []int{1, 1}, []int{r.Canary.Sent, r.Canary.Arrived})
		})
	}
}

// cutInTheMiddle runs 3 s of load and cuts the subscriber's connection while a part of it is
// published. away is how long that lasts: a message due before and published during it is at least
// that late.
func cutInTheMiddle(t *testing.T, mqtt string) (r *runfile.Run, away time.Duration) {
	t.Helper()
	m := startMosquitto(t)
	var cut time.Time
	m.each = func(nth int) {
		switch nth {
		case 100:
			cut = time.Now()
			m.cutter.cut()
		case 150: // with 16 senders, some of these are still in flight
			away = time.Since(cut)
			m.cutter.mend()
		}
	}
	r = newScript(t, &fake.Pipeline{}, "phases: [{duration: 3, arrivalRate: 100}]\nflows: [{name: direct}]",
		through(m, mqtt)).run()
	require.Len(t, r.Health.Gaps, 1)
	gap := r.Health.Gaps[0]
	assert.Equal(t, 1, gap.Subscriber)
	require.NotNil(t, gap.ToS)
	assert.Greater(t, *gap.ToS, gap.FromS)
	assert.True(t, r.Account.Balanced)
	assert.Zero(t, r.Account.Dropped, "the load continues")
	return r, away
}

func TestADisconnectedSubscriberLosesMessages(t *testing.T) {
	t.Parallel()
	r, _ := cutInTheMiddle(t, "}, idle: '3s', labels: {")
	assert.Positive(t, r.Account.Lost, "messages that were due in the gap")
	assert.Positive(t, r.Account.Arrived)
	assert.Equal(t, 300, r.Account.Arrived+r.Account.Lost)
	assert.Equal(t, runfile.Invalid, r.Verdict.Result, "the loss is the instrument's")
	assert.Contains(t, r.Verdict.Reasons,
		fmt.Sprintf("a subscriber had no connection (once): the wait counts as the pipeline's "+
			"latency, and it may have lost some of %d missing deliveries", r.Account.Lost))
}

func TestAPersistentSessionLosesNothing(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"5", "3.1.1"} {
		t.Run("MQTT "+version, func(t *testing.T) {
			t.Parallel()
			r, away := cutInTheMiddle(t, "session: 'persistent', version: '"+version+"'")
			assert.Zero(t, r.Account.Lost)
			assert.Equal(t, 300, r.Account.Arrived)
			assert.Equal(t, runfile.Pass, r.Verdict.Result, "the wait only lengthens")
			assert.Contains(t, strings.Join(r.Verdict.Doubts, "\n"), "the wait counts as the pipeline's latency")
			assert.GreaterOrEqual(t, *r.Latency.Arrival.Max, 0.99*away.Seconds()*1000,
				"ms; the wait for the subscriber counts; 1 % is for the kernel's other clock")
		})
	}
}

// Two clients with the same id disconnect each other, so one must stop reconnecting (fault 20).
func TestAClientWithTheSameIDInvalidatesTheRun(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, "phases: [{duration: 100, arrivalRate: 50}]\nflows: [{name: direct}]",
		through(startMosquitto(t), "}, idle: '500ms', labels: {"))
	e := s.engine
	rival, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() {
		<-e.Started
		for rival.Err() == nil { // reconnects, as clients do
			conn, err := mqtt.Connect(rival, mqtt.SubscriberOptions{URL: e.options.MQTT.URL, ClientID: "arrival-" +
				e.parts.Name + "-subscriber-1", Dial: s.state.Dialer.DialContext})
			if err != nil {
				continue
			}
			end := context.AfterFunc(rival, conn.Close)
			_ = conn.Read("", func([]mqtt.Message) {})
			end()
			conn.Close()
		}
	})
	r := s.run()
	stop()
	work.Wait()
	assert.Equal(t, runfile.Invalid, r.Verdict.Result)
	assert.Contains(t, r.Verdict.Reasons[0],
		"a subscriber lost its connection, so the rest of the load was not sent: subscriber 1: ")
	assert.Contains(t, r.Verdict.Reasons[0], "is another client using its id?")
	assert.Positive(t, r.Account.Dropped)
	assert.True(t, r.Account.Balanced)
	gaps := r.Health.Gaps // on a busy machine a connection may last
	require.GreaterOrEqual(t, len(gaps), 5)
	assert.Nil(t, gaps[len(gaps)-1].ToS)
}

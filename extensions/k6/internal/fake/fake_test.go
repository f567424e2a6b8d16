package fake

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/hops"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive/mqtt"
)

// reader subscribes to topics of a pipeline and reports each message as "<topic> <id> <stamps>".
type reader struct {
	t        *testing.T
	pipeline *Pipeline
	conn     *mqtt.Subscriber
	arrived  chan string
	ended    chan error
}

func startReader(t *testing.T, f *Pipeline, topics ...string) *reader {
	t.Helper()
	require.NoError(t, f.Start())
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	var dialer net.Dialer
	conn, err := mqtt.Connect(t.Context(),
		mqtt.SubscriberOptions{URL: f.MQTTURL(), ClientID: "test", Dial: dialer.DialContext})
	require.NoError(t, err)
	require.NoError(t, conn.Subscribe(t.Context(), topics, 1))
	r := &reader{t: t, pipeline: f, conn: conn, arrived: make(chan string, 1000), ended: make(chan error, 1)}
	go func() {
		r.ended <- conn.Read(hops.Property, func(messages []mqtt.Message) {
			for _, m := range messages {
				id, _, _ := strings.Cut(strings.TrimPrefix(string(m.Payload), `{"id":"`), `"`)
				r.arrived <- strings.TrimSpace(string(m.Topic) + " " + id + " " + string(m.Hops))
			}
		})
	}()
	t.Cleanup(conn.Close)
	return r
}

// post posts messages, "<id>@<target>" each, one after the other and returns the statuses.
func (r *reader) post(messages ...string) (statuses []int) {
	r.t.Helper()
	for _, m := range messages {
		id, target, _ := strings.Cut(m, "@")
		body := fmt.Sprintf(`{"id":%q,"target":%q}`, id, target)
		answer, err := http.Post(r.pipeline.IngestURL()+"/messages", "application/json", strings.NewReader(body))
		require.NoError(r.t, err)
		_ = answer.Body.Close()
		statuses = append(statuses, answer.StatusCode)
	}
	return statuses
}

func (r *reader) expect(want ...string) {
	r.t.Helper()
	for _, w := range want {
		select {
		case got := <-r.arrived:
			require.Equal(r.t, w, got)
		case <-time.After(10 * time.Second):
			require.FailNow(r.t, "nothing arrived", "want %q", w)
		}
	}
}

func TestASwappedMessageComesAfterTheNextOneOnItsTopic(t *testing.T) {
	t.Parallel()
	r := startReader(t, &Pipeline{Swap: func(nth int) bool { return nth == 1 }}, "messages/a", "messages/b")
	r.post("1@a", "2@b", "3@a", "4@a")
	r.expect("messages/b 2", "messages/a 3", "messages/a 1", "messages/a 4")
}

func TestCopiesKeptAndLeftoverMessages(t *testing.T) {
	t.Parallel()
	f := &Pipeline{
		Redis:     &Redis{},
		Copies:    func(nth int) int { return nth % 3 },
		Keep:      func(nth int) string { return map[int]string{4: Messages, 5: DeadLetters}[nth] },
		Leftovers: func(nth int) int { return nth / 7 },
	}
	r := startReader(t, f, "messages/a")
	assert.Equal(t, []int{202, 202, 202, 202, 202, 202, 202}, r.post("1@a", "2@a", "3@a", "4@a", "5@a", "6@a", "7@a"))
	r.expect("messages/a 1", "messages/a 2", "messages/a 2", "messages/a another0.1.1", "messages/a 7")
	ids := []string{}
	for _, d := range f.Log() {
		ids = append(ids, d.ID)
		assert.False(t, d.Written.Before(d.Received))
	}
	assert.Equal(t, []string{"1", "2", "7"}, ids)

	client := connect(t, f.Redis)
	for stream, id := range map[string]string{Messages: "4", DeadLetters: "5"} {
		entries, err := client.XRange(t.Context(), stream, "-", "+").Result()
		require.NoError(t, err)
		require.Len(t, entries, 1)
		assert.Equal(t, fmt.Sprintf("a\n\n{\"id\":%q,\"target\":\"a\"}", id), entries[0].Values["frame"])
	}
}

func TestAFreezeDelaysItsFirstRequestAndAllLaterOnes(t *testing.T) {
	t.Parallel()
	const length = 100 * time.Millisecond
	f := &Pipeline{Freeze: Freeze{Nth: 2, For: length}}
	r := startReader(t, f, "messages/a")
	r.post("1@a")
	assert.True(t, f.Frozen().IsZero())
	r.post("2@a")
	assert.GreaterOrEqual(t, time.Since(f.Frozen()), length)
	r.expect("messages/a 1", "messages/a 2")
	log := f.Log()
	assert.GreaterOrEqual(t, log[1].Written.Sub(log[1].Received), length)
	assert.Equal(t, f.Frozen(), log[1].Received)
}

func TestNothingIsDeliveredBeforeItsDelay(t *testing.T) {
	t.Parallel()
	const delay = 50 * time.Millisecond
	f := &Pipeline{Delay: delay}
	r := startReader(t, f, "messages/a")
	r.post("1@a", "2@a", "3@a")
	r.expect("messages/a 1", "messages/a 2", "messages/a 3")
	for _, d := range f.Log() {
		assert.GreaterOrEqual(t, d.Written.Sub(d.Received), delay)
	}
}

func TestRedisAndStampsShareTheWrongClock(t *testing.T) {
	t.Parallel()
	clock := Clock{Ahead: time.Hour, PPM: 50, Since: time.Now()}
	const ms = time.Millisecond
	delays := StageDelays{Request: ms, Ingest: 2 * ms, Queue: 3 * ms, Relay: 4 * ms}
	f := &Pipeline{Redis: &Redis{Clock: clock}, Hops: delays.Stamps(clock)}
	r := startReader(t, f, "messages/a")
	client := connect(t, f.Redis)

	before := clock.Micros(time.Now())
	shown, err := client.Time(t.Context()).Result()
	require.NoError(t, err)
	after := clock.Micros(time.Now())
	assert.GreaterOrEqual(t, shown.UnixMicro(), before)
	assert.LessOrEqual(t, shown.UnixMicro(), after)

	before = after
	r.post("1@a")
	words := strings.Fields(<-r.arrived)
	stamps, err := hops.Parse([]byte(words[len(words)-1]))
	require.NoError(t, err)
	stamps = stamps.Move(func(int64) int64 { return -delays.Request.Microseconds() })
	assert.GreaterOrEqual(t, stamps.At[0], before)
	assert.LessOrEqual(t, stamps.At[0], clock.Micros(time.Now()))
	assert.Equal(t, hops.Of(0, 2000, 5000, 9000), stamps.Move(func(int64) int64 { return -stamps.At[0] }))
}

func TestAClockDriftsFromItsConfiguredMoment(t *testing.T) {
	t.Parallel()
	since := time.Unix(1_700_000_000, 0)
	c := Clock{Ahead: -500 * time.Millisecond, PPM: 50, Since: since}
	assert.Equal(t, -500*time.Millisecond, c.Error(since))
	assert.Equal(t, -500*time.Millisecond+500*time.Microsecond, c.Error(since.Add(10*time.Second)))
	assert.Equal(t, int64(1_700_000_009_500_500), c.Micros(since.Add(10*time.Second)))
}

func TestCutAndTakeOverEndTheConnection(t *testing.T) {
	t.Parallel()
	for words, end := range map[string]func(*Pipeline){
		"connection ended": (*Pipeline).Cut, "session taken over": (*Pipeline).TakeOver,
	} {
		f := &Pipeline{}
		r := startReader(t, f, "messages/a")
		r.post("1@a")
		r.expect("messages/a 1")
		end(f)
		assert.ErrorContains(t, <-r.ended, words)
		r.post("2@a") // no subscriber is left
	}
}

func connect(t *testing.T, r *Redis) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(r.URL())
	require.NoError(t, err)
	client := redis.NewClient(o)
	t.Cleanup(func() { _ = client.Close() })
	require.NoError(t, client.Ping(t.Context()).Err())
	return client
}

func TestAloneWaitsForThePreviousAcknowledgement(t *testing.T) {
	t.Parallel()
	f := &Pipeline{Alone: true}
	r := startReader(t, f, "messages/a")
	want := []string{"messages/a 1", "messages/a 2", "messages/a 3"}
	r.post("1@a", "2@a", "3@a")
	r.expect(want...)
	log := f.Log()
	require.Len(t, log, len(want))
	for i, d := range log[1:] {
		before := log[i]
		assert.False(t, d.Written.Before(before.Acked), d.ID)
		assert.False(t, before.Acked.Before(before.Written), "acknowledged after it was written")
		assert.False(t, before.Handed.Before(before.Written))
		assert.False(t, before.Written.Before(before.Made))
	}
}

func TestOneServerServesInOrderAndNeverTwoAtOnce(t *testing.T) {
	t.Parallel()
	const service = 30 * time.Millisecond
	f := &Pipeline{Service: func(nth int) time.Duration { return time.Duration(nth) * service }}
	r := startReader(t, f, "messages/a")
	began := time.Now()
	r.post("1@a", "2@a", "3@a")
	r.expect("messages/a 1", "messages/a 2", "messages/a 3")
	log := f.Log()
	require.Len(t, log, 3)
	for i, busy := range []time.Duration{service, 3 * service, 6 * service} {
		assert.GreaterOrEqual(t, log[i].Written.Sub(began), busy, "message %d", i+1)
	}
}

func TestALateAnswerHoldsNoMessage(t *testing.T) {
	t.Parallel()
	const late = 300 * time.Millisecond
	f := &Pipeline{Answer: func(nth int) time.Duration { return map[int]time.Duration{2: late}[nth] }}
	r := startReader(t, f, "messages/a")
	r.post("1@a")
	asked := time.Now()
	r.post("2@a")
	answered := time.Now()
	r.expect("messages/a 1", "messages/a 2")
	assert.GreaterOrEqual(t, answered.Sub(asked), late)
	assert.True(t, f.Log()[1].Written.Before(answered))
}

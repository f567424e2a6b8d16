package mqtt

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqtt"
)

// collector is a listener that keeps what it gets.
type collector struct {
	messages []*incoming
	ended    chan error
}

func (c *collector) arrived(m *incoming) { c.messages = append(c.messages, m) }
func (c *collector) lost(err error)      { c.ended <- err }

// accepted returns a connected wire over a pipe, and the broker's end of the pipe.
func accepted(t *testing.T) (*wire, *collector, *peer) {
	t.Helper()
	theirs, ours := net.Pipe()
	broker := &peer{theirs, bufio.NewReader(theirs)}
	go broker.accept(0)
	on := &collector{ended: make(chan error, 1)}
	dial := func(context.Context, string, string) (net.Conn, error) { return ours, nil }
	hello := mqtt.Connect{Version: mqtt311, Clean: true}
	conn, err := dialer(dial, nil).Connect(t.Context(), mqtt.Address{Host: "broker"}, hello)
	require.NoError(t, err)
	w := newWire(conn, newSession(), true)
	w.start(on)
	return w, on, broker
}

func publishPacket(n int) []byte {
	return (&mqtt.Publish{Topic: []byte("t"), Payload: bytes.Repeat([]byte{typePublish << 4}, n)}).Append(nil,
		mqtt311)
}

func TestMessagesHaveTheTimeOfTheReadThatCompletedThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, on, broker := accepted(t)
		start := time.Now()
		stream := slices.Concat(publishPacket(10), publishPacket(20), publishPacket(3*writeSize), publishPacket(0))
		cut := len(publishPacket(10)) + len(publishPacket(20)) + 5
		_, _ = broker.Write(stream[:cut]) // two messages and a part of the third
		time.Sleep(5 * time.Millisecond)
		_, _ = broker.Write(stream[cut:])
		synctest.Wait()
		time.Sleep(time.Hour)
		_ = broker.Close()
		require.ErrorIs(t, <-on.ended, io.EOF)
		<-w.done
		later := start.Add(5 * time.Millisecond)
		for i, want := range []time.Time{start, start, later, later} {
			assert.Equal(t, want, on.messages[i].received)
		}
		assert.Len(t, on.messages[2].payload, 3*writeSize)
		assert.Empty(t, on.messages[3].payload)
		assert.Len(t, w.In.B, readSize, "the buffer of a large message is released")
	})
}

// Receiving continues while the broker does not read acknowledgements.
func TestUnwrittenAcknowledgementsDoNotBlockReceiving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, on, broker := accepted(t)
		for id := range uint16(100) {
			p := mqtt.Publish{Topic: []byte("t"), QoS: 1, ID: id + 1}
			_, _ = broker.Write(p.Append(nil, mqtt311))
		}
		synctest.Wait()
		assert.Len(t, on.messages, 100)
		w.disconnect()
		<-on.ended
	})
}

// The second message arrives while the first one's handler runs. Its time is that of its arrival.
func TestReceivedIsTheSocketsTime(t *testing.T) { eachVersion(t, testReceivedIsTheSocketsTime) }

func testReceivedIsTheSocketsTime(t *testing.T, v int) {
	acknowledged := make(chan struct{}, 1)
	b := newBroker(t, &rules{acknowledged: acknowledged})
	s := newScript(t, v, b).start()
	rt := s.VU.Runtime()
	require.NoError(t, rt.Set("now", func() float64 { return milliseconds(time.Now()) }))
	require.NoError(t, rt.Set("arrive", func(text string) {
		_ = b.Publish("t", []byte(text), false, 1)
		<-acknowledged // comes after the arrival
	}))
	assert.Equal(t, []string{"first 3 true true", "second 3 true true"}, s.run(`
		const client = new Client(), times = [];
		let before, after;
		client.on("message", function (topic, payload, { received }) {
			log(text(payload), arguments.length, before <= received, received <= after);
			times.push(received);
			if (text(payload) === "second") return client.end();
			before = now();
			arrive("second");
			after = now();
		});
		client.connect(broker);
		client.subscribe("t", { qos: 1 });
		before = now();
		arrive("first");
		after = now();`))
}

package mqtt

import (
	"bytes"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// publishPacket is a QoS 0 PUBLISH with a payload of n bytes.
func publishPacket(n int) []byte {
	packet := []byte{typePublish << 4}
	remaining := 3 + n
	for ; remaining >= 0x80; remaining >>= 7 {
		packet = append(packet, byte(remaining)|0x80)
	}
	packet = append(packet, byte(remaining), 0, 1, 't')
	return append(packet, bytes.Repeat([]byte{typePublish << 4}, n)...)
}

func TestFramesFindTheEndOfEachPublish(t *testing.T) {
	other := [][]byte{{0x20, 2, 0, 0}, {0xd0, 0}, {0x40, 2, 0x30, 0x30}} // CONNACK, PINGRESP, PUBACK
	var stream []byte
	var ends []int // offsets after which a PUBLISH is complete
	for i, size := range []int{0, 1, 124, 125, 126, 16_380, 16_381, 2_097_148, 2_097_149, 3} {
		stream = append(stream, other[i%len(other)]...)
		stream = append(stream, publishPacket(size)...)
		ends = append(ends, len(stream))
	}
	for _, piece := range []int{1, 2, 3, 7, 4096, len(stream)} {
		var f frames
		found := 0
		for at := 0; at < len(stream); at += piece {
			end := min(at+piece, len(stream))
			found += f.publishes(stream[at:end])
			if found < len(ends) && ends[found] <= end || found > 0 && ends[found-1] > end {
				t.Fatalf("in pieces of %d bytes: %d found after %d bytes", piece, found, end)
			}
		}
		assert.Equal(t, len(ends), found)
	}
}

// handOnAll takes the times of all messages that Read has completed.
func (a *arrivals) handOnAll() (times []time.Time) {
	for len(a.times) > 0 {
		a.handOn(func(received time.Time) { times = append(times, received) })
	}
	return times
}

func TestMessagesHaveTheTimeOfTheReadThatCompletedThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broker, socket := net.Pipe()
		conn := newTimedConn(socket)
		start := time.Now()
		stream := append(append(append([]byte{}, publishPacket(10)...), publishPacket(20)...), publishPacket(30)...)
		cut := len(publishPacket(10)) + len(publishPacket(20)) + 5
		_, _ = broker.Write(stream[:cut]) // two messages and a piece
		time.Sleep(5 * time.Millisecond)
		_, _ = broker.Write(stream[cut:])
		synctest.Wait()

		time.Sleep(time.Hour) // the script is slow; the times are those of the socket
		got := make([]byte, len(stream))
		_, err := io.ReadFull(conn, got)
		require.NoError(t, err)
		assert.Equal(t, stream, got)
		assert.Equal(t, []time.Time{start, start, start.Add(5 * time.Millisecond)}, conn.arrivals.handOnAll())
		require.NoError(t, conn.Close())
	})
}

func TestReadAheadIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broker, socket := net.Pipe()
		conn := newTimedConn(socket)
		const size = 3 * readAhead
		sent := bytes.Repeat([]byte("abcdefghijklm"), size/13+1)[:size]
		go func() {
			_, _ = broker.Write(sent)
			_ = broker.Close()
		}()
		synctest.Wait()
		assert.Greater(t, len(conn.ahead.data), readAhead)
		assert.LessOrEqual(t, len(conn.ahead.data), readAhead+readSize)

		got, err := io.ReadAll(conn)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(sent, got))
		require.NoError(t, conn.Close())
	})
}

func TestCloseKeepsWhatWasRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broker, socket := net.Pipe()
		conn := newTimedConn(socket)
		_, _ = broker.Write([]byte("read"))
		synctest.Wait()
		require.NoError(t, conn.Close())
		got, err := io.ReadAll(conn)
		assert.Equal(t, "read", string(got))
		require.ErrorIs(t, err, net.ErrClosed)
	})
}

func TestCloseEndsAFullReadAheadAndAWaitingRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broker, socket := net.Pipe()
		conn := newTimedConn(socket)
		go func() { _, _ = broker.Write(make([]byte, 2*readAhead)) }()
		synctest.Wait()
		require.NoError(t, conn.Close())

		_, socket = net.Pipe()
		idle := newTimedConn(socket)
		ended := make(chan error)
		go func() {
			_, err := idle.Read(make([]byte, 1))
			ended <- err
		}()
		synctest.Wait()
		require.NoError(t, idle.Close())
		require.ErrorIs(t, <-ended, net.ErrClosed)
	}) // which fails when a goroutine is left
}

func TestDrainWaitsForMessagesToBeHandedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broker, socket := net.Pipe()
		conn := newTimedConn(socket)
		_, _ = broker.Write(publishPacket(1))
		synctest.Wait()
		require.NoError(t, conn.Close())
		done := false
		go func() {
			conn.arrivals.drain(time.Minute)
			done = true
		}()
		_, err := io.ReadAll(conn)
		require.ErrorIs(t, err, net.ErrClosed)
		synctest.Wait()
		assert.False(t, done, "the message has not been handed on")
		conn.arrivals.handOnAll()
		synctest.Wait()
		assert.True(t, done)

		before := time.Now()
		newTimedConn(broker).arrivals.drain(time.Minute) // whose reader has stopped early
		assert.Equal(t, time.Minute, time.Since(before))
	})
}

// The handler of the first message runs until the second has arrived: the second's time is before its handler's.
func TestReceivedIsTheSocketsTime(t *testing.T) { eachVersion(t, testReceivedIsTheSocketsTime) }

func testReceivedIsTheSocketsTime(t *testing.T, v int) {
	acknowledged := make(chan struct{}, 1)
	b := newBroker(t, &rules{acknowledged: acknowledged})
	s := newScript(t, v, b).start()
	rt := s.VU.Runtime()
	require.NoError(t, rt.Set("now", func() float64 { return milliseconds(time.Now()) }))
	require.NoError(t, rt.Set("arrive", func(text string) {
		_ = b.Publish("t", []byte(text), false, 1)
		<-acknowledged // which follows the arrival
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

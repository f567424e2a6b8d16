package mqtt

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqtt"
	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
)

// connected returns a connection and the broker's end of it.
func connected(t *testing.T) (*Subscriber, net.Conn) {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = ours.Close(); _ = theirs.Close() })
	s := socket.New(ours, false)
	return over(s, mqtt.Version5), theirs
}

// over returns a connection over a socket, without CONNECT.
func over(s *socket.Conn, version int) *Subscriber {
	return newSubscriber(mqtt.NewConn(s, "broker:1883", version, readSize, maxPacket), s,
		SubscriberOptions{Version: version})
}

func publishPacket(t testing.TB, id uint16, qos byte, p *packets.Properties, payload string) []byte {
	t.Helper()
	packet := packets.NewControlPacket(packets.PUBLISH)
	content := packet.Content.(*packets.Publish)
	content.Topic, content.Payload, content.QoS, content.PacketID = "messages/user/1", []byte(payload), qos, id
	if p != nil {
		content.Properties = p
	}
	var b bytes.Buffer
	_, err := packet.WriteTo(&b)
	require.NoError(t, err)
	return b.Bytes()
}

type seen struct {
	Topic, Payload, Hops string
	socket.Arrival
}

func seenOf(m Message) seen {
	return seen{string(m.Topic), string(m.Payload), string(m.Hops), m.Arrival}
}

// collect reads until the connection ends and returns the messages.
func collect(c *Subscriber) (all []seen, err error) {
	err = c.Read("hops", func(messages []Message) {
		for _, m := range messages {
			all = append(all, seenOf(m))
		}
	})
	return all, err
}

func TestReadsPahosPacketsInAnyPieces(t *testing.T) {
	t.Parallel()
	c, broker := connected(t)
	random := rand.New(rand.NewPCG(1, 2))
	format, expiry := byte(1), uint32(60)
	properties := []*packets.Properties{
		nil,
		{User: []packets.User{{Key: "hops", Value: "1,2,3,4"}}},
		{
			PayloadFormat: &format, MessageExpiry: &expiry, ContentType: "application/json",
			ResponseTopic: "back", CorrelationData: []byte{0, 1, 2},
			User: []packets.User{{Key: "other", Value: "x"}, {Key: "hops", Value: "9,9,9,9"}, {Key: "", Value: ""}},
		},
	}
	var stream []byte
	var want []seen
	var acked []uint16
	for i := range 500 {
		p := properties[i%len(properties)]
		qos := byte(i % 2)
		payload := fmt.Sprintf("%d %s", i, strings.Repeat("x", random.IntN(300)))
		if i == 250 {
			payload = strings.Repeat("y", 3*readSize) // larger than the buffer
		}
		stream = append(stream, publishPacket(t, uint16(i+1)*uint16(qos), qos, p, payload)...)
		want = append(want, seen{Topic: "messages/user/1", Payload: payload,
			Hops: []string{"", "1,2,3,4", "9,9,9,9"}[i%3]})
		if qos == 1 {
			acked = append(acked, uint16(i+1))
		}
		if i%50 == 0 {
			stream = append(stream, packets.PINGRESP<<4, 0)
		}
	}
	acks := make(chan []byte, 1)
	go func() {
		b, _ := io.ReadAll(io.LimitReader(broker, int64(4*len(acked))))
		acks <- b
	}()
	go func() {
		for len(stream) > 0 {
			n := min(len(stream), 1+random.IntN(2000))
			_, _ = broker.Write(stream[:n])
			stream = stream[n:]
		}
		got := <-acks
		acks <- got
		_ = broker.Close()
	}()
	got, err := collect(c)
	assert.ErrorContains(t, err, "broker:1883: the connection ended")
	for i := range got {
		got[i].Arrival = socket.Arrival{}
	}
	require.Equal(t, want, got)
	wantAcks := []byte{}
	for _, id := range acked {
		wantAcks = append(wantAcks, 0x40, 2, byte(id>>8), byte(id))
	}
	assert.Equal(t, wantAcks, <-acks)
}

func TestAMessageIsStampedByTheReadThatCompletesIt(t *testing.T) {
	t.Parallel()
	c, broker := connected(t)
	one := publishPacket(t, 0, 0, nil, "whole")
	two := publishPacket(t, 0, 0, nil, "split")
	go func() {
		_, _ = broker.Write(append(one, two[:5]...))
		_, _ = broker.Write(two[5:])
		_ = broker.Close()
	}()
	began := time.Now()
	got, _ := collect(c)
	require.Len(t, got, 2)
	assert.True(t, got[0].At.After(began))
	assert.True(t, got[1].At.After(got[0].At))
}

func TestCloseEndsReadingWithoutAnError(t *testing.T) {
	t.Parallel()
	c, broker := connected(t)
	go func() { _, _ = io.Copy(io.Discard, broker) }()
	ended := make(chan error)
	go func() { _, err := collect(c); ended <- err }()
	c.Close()
	c.Close()
	require.ErrorIs(t, <-ended, net.ErrClosed)
}

func TestTheErrorNamesHowTheConnectionEnded(t *testing.T) {
	t.Parallel()
	c, broker := connected(t)
	go func() { _, _ = broker.Write([]byte{packets.DISCONNECT << 4, 2, 0x8e, 0}) }()
	_, err := collect(c)
	require.ErrorIs(t, err, ErrTakenOver)
	assert.EqualError(t, err, "MQTT broker broker:1883 ended the connection: "+
		"session taken over: another client has connected with our client id")

	c, broker = connected(t)
	go func() { _, _ = broker.Write([]byte{packets.DISCONNECT << 4, 7, 0x8b, 5, 0x1f, 0, 2, 'h', 'i'}) }()
	_, err = collect(c)
	assert.EqualError(t, err, "MQTT broker broker:1883 ended the connection: Server shutting down (hi)")
	assert.NotErrorIs(t, err, ErrTakenOver)
	assert.NotErrorIs(t, err, mqtt.ErrRefused)

	c, broker = connected(t)
	go func() { _ = broker.Close() }()
	_, err = collect(c)
	assert.EqualError(t, err, "MQTT broker broker:1883: the connection ended: EOF")
	require.ErrorIs(t, err, io.EOF)
}

// Regression: messages in the same read as the packet that ended the connection were dropped.
func TestMessagesBeforeTheEndAreDeliveredAndAcknowledged(t *testing.T) {
	t.Parallel()
	for name, end := range map[string][]byte{
		"DISCONNECT": {packets.DISCONNECT << 4, 0},
		"malformed":  {0x30, 3, 0, 9, 'a'},
	} {
		c, broker := connected(t)
		ack := make(chan []byte, 1)
		go func() {
			_, _ = broker.Write(append(publishPacket(t, 3, 1, nil, "last words"), end...))
			b := make([]byte, 4)
			_, _ = io.ReadFull(broker, b)
			ack <- b
		}()
		got, err := collect(c)
		require.Error(t, err, name)
		require.Len(t, got, 1, name)
		assert.Equal(t, []byte{0x40, 2, 0, 3}, <-ack, name)
	}
}

// Regression: after a failed acknowledgement the reader left messages and DISCONNECT unread.
func TestMessagesBeforeAFailedWriteAreDelivered(t *testing.T) {
	t.Parallel()
	s := socket.New(&broken{bursts{burst: publishPacket(t, 1, 1, nil, "payload"), left: 3}}, false)
	got, err := collect(over(s, mqtt.Version5))
	require.ErrorIs(t, err, io.EOF)
	assert.Len(t, got, 3)
}

// broken is a connection with unread bytes whose other end is gone.
type broken struct{ bursts }

func (*broken) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestMQTT311HasNoProperties(t *testing.T) {
	t.Parallel()
	c, broker := connected(t)
	c.conn.Version = mqtt.Version311
	go func() {
		_, _ = broker.Write([]byte{0x30, 10, 0, 1, 'a', 'p', 'a', 'y', 'l', 'o', 'a', 'd'})
		_ = broker.Close()
	}()
	got, _ := collect(c)
	require.Len(t, got, 1)
	assert.Equal(t, seen{"a", "payload", "", socket.Arrival{At: got[0].At, Waited: socket.Unknown}}, got[0])
}

// In steady state a read allocates nothing.
func TestReadingAllocatesNothing(t *testing.T) {
	for name, version := range map[string]int{"MQTT 5": mqtt.Version5, "3.1.1": mqtt.Version311} {
		var burst []byte
		properties := &packets.Properties{User: []packets.User{{Key: "hops", Value: "1,2,3,4"}}}
		for i := range 20 {
			qos := byte(i % 3)
			burst = append(burst, publishPacket(t, uint16(i+1)*uint16(min(qos, 1)), qos, properties, "payload")...)
			if qos == 2 {
				burst = append(burst, 0x62, 2, 0, byte(i+1))
			}
		}
		canned := &bursts{burst: burst}
		s := socket.New(canned, false)
		messages := 0
		const reads = 1000
		allocated := testing.AllocsPerRun(1, func() {
			canned.left, messages = reads, 0
			c := over(s, version)
			_ = c.Read("hops", func(m []Message) { messages += len(m) })
		})
		assert.Equal(t, 20*reads, messages, name)
		assert.Less(t, allocated, float64(reads)/10, name) // for the connection itself
	}
}

// bursts is a connection whose reads return the same bytes, left times.
type bursts struct {
	net.Conn
	burst []byte
	left  int
}

func (b *bursts) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	b.left--
	return copy(p, b.burst), nil
}

func (b *bursts) Write(p []byte) (int, error) { return len(p), nil }

func (b *bursts) Close() error { return nil }

// BenchmarkRead measures the reader without a network: 100 messages a read, 200 B each, with hops.
func BenchmarkRead(b *testing.B) {
	properties := &packets.Properties{User: []packets.User{{Key: "hops", Value: "1795261267720504,384,1303,122"}}}
	canned := &bursts{}
	for range 100 {
		canned.burst = append(canned.burst, publishPacket(b, 0, 0, properties, strings.Repeat("x", 200))...)
	}
	canned.left = 1 + b.N/100
	s := socket.New(canned, false)
	c := over(s, mqtt.Version5)
	b.ReportAllocs()
	b.ResetTimer()
	_ = c.Read("hops", func([]Message) {})
}

package mqtt5

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"

	"github.com/eclipse/paho.golang/packets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// connected returns a connection and the broker's end of it.
func connected(t *testing.T) (*Conn, net.Conn) {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = ours.Close(); _ = theirs.Close() })
	return &Conn{net: ours, address: "broker:1883", closed: make(chan struct{})}, theirs
}

func publishPacket(t *testing.T, id uint16, qos byte, p *packets.Properties, payload string) []byte {
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
	At                   int64
}

// collect reads until the broker closes and returns what was handed over.
func collect(c *Conn) (all []seen, err error) {
	reads := int64(0)
	err = c.Read("hops", func() int64 { reads++; return reads }, func(at int64, messages []Message) {
		for _, m := range messages {
			all = append(all, seen{string(m.Topic), string(m.Payload), string(m.Hops), at})
		}
	})
	return all, err
}

func TestReadsWhatPahoWritesHoweverItIsCut(t *testing.T) {
	t.Parallel()
	c, broker := connected(t)
	random := rand.New(rand.NewPCG(1, 2))
	format, alias, expiry := byte(1), uint16(7), uint32(60)
	properties := []*packets.Properties{
		nil,
		{User: []packets.User{{Key: "hops", Value: "1,2,3,4"}}},
		{
			PayloadFormat: &format, TopicAlias: &alias, MessageExpiry: &expiry, ContentType: "application/json",
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
		want = append(want, seen{Topic: "messages/user/1", Payload: payload, Hops: []string{"", "1,2,3,4", "9,9,9,9"}[i%3]})
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
		got[i].At = 0
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
	got, _ := collect(c)
	require.Len(t, got, 2)
	assert.Equal(t, []int64{1, 2}, []int64{got[0].At, got[1].At})
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

func TestTheBrokersReasonIsTold(t *testing.T) {
	t.Parallel()
	c, broker := connected(t)
	go func() { _, _ = broker.Write([]byte{packets.DISCONNECT << 4, 2, 0x8e, 0}) }()
	_, err := collect(c)
	assert.ErrorContains(t, err, "broker:1883 ended the connection: Session taken over")
}

func TestMalformedPacketsEndTheConnection(t *testing.T) {
	t.Parallel()
	for name, bytes := range map[string][]byte{
		"length of five bytes":     {0x30, 0xff, 0xff, 0xff, 0xff, 0x01},
		"longer than we hold":      {0x30, 0xff, 0xff, 0xff, 0x7f},
		"topic beyond the packet":  {0x30, 3, 0, 9, 'a'},
		"no packet id at QoS 1":    {0x32, 3, 0, 1, 'a'},
		"QoS 2":                    {0x34, 6, 0, 1, 'a', 0, 1, 0},
		"properties beyond packet": {0x30, 4, 0, 1, 'a', 9},
		"unknown property":         {0x30, 5, 0, 1, 'a', 1, 0x7e},
		"property that is cut off": {0x30, 6, 0, 1, 'a', 2, 0x26, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, broker := connected(t)
			go func() { _, _ = broker.Write(bytes) }()
			_, err := collect(c)
			assert.ErrorIs(t, err, errMalformed)
		})
	}
}

func FuzzPublish(f *testing.F) {
	f.Add(byte(0x32), []byte{0, 1, 'a', 0, 1, 0})
	f.Fuzz(func(t *testing.T, kind byte, body []byte) {
		m, _, err := publish(kind, body, "hops")
		if err == nil && len(m.Topic)+len(m.Payload)+len(m.Hops) > len(body) {
			t.Fatal("more came out than went in")
		}
	})
}

func TestAddress(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"mqtt://h":           "h:1883 false",
		"tcp://h:9":          "h:9 false",
		"mqtts://u:p@h":      "h:8883 true",
		"mqtt://[::1]:11883": "[::1]:11883 false",
	} {
		address, secure, _, err := Address(raw)
		require.NoError(t, err, raw)
		assert.Equal(t, want, fmt.Sprint(address, " ", secure))
	}
	for raw, want := range map[string]string{
		"":          "not an MQTT address: mqtt://host:port or mqtts://host:port",
		"127.0.0.1": "not an MQTT address: mqtt://host:port or mqtts://host:port",
		"http://h":  `scheme "http" of the MQTT address is not supported; allowed: mqtt, tcp, mqtts, ssl, tls`,
	} {
		_, _, _, err := Address(raw)
		assert.EqualError(t, err, want, raw)
	}
}

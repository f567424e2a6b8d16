package mqtt

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqtt"
	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
)

// script is a broker that answers packets with the items of answers, in order.
type script struct {
	answers [][]byte
	got     chan [][]byte // each connection's packets, sent at its end
}

func (s *script) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	go func() {
		var packets [][]byte
		in := bufio.NewReader(theirs)
		for _, answer := range s.answers {
			packets = append(packets, nextPacket(in))
			_, _ = theirs.Write(answer)
		}
		for p := nextPacket(in); p != nil; p = nextPacket(in) {
			packets = append(packets, p)
		}
		s.got <- packets
	}()
	return ours, nil
}

// nextPacket returns the next packet, nil at the end.
func nextPacket(in *bufio.Reader) []byte {
	first, err := in.ReadByte()
	if err != nil {
		return nil
	}
	p, length := []byte{first}, 0
	for shift := 0; ; shift += 7 {
		b, err := in.ReadByte()
		if err != nil {
			return nil
		}
		p, length = append(p, b), length|int(b&0x7f)<<shift
		if b < 0x80 {
			break
		}
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(in, body); err != nil {
		return nil
	}
	return append(p, body...)
}

func newScript(answers ...[]byte) *script { return &script{answers, make(chan [][]byte, 10)} }

var (
	accepted311 = []byte{0x20, 2, 0, 0}
	accepted5   = []byte{0x20, 3, 0, 0, 0}
)

func TestConnectSendsTheOptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options    SubscriberOptions
		answer     []byte
		want       packets.Connect // of MQTT 5, as paho reads it
		raw        []byte          // of 3.1.1
		disconnect []byte
	}{
		"MQTT 5": {
			options: SubscriberOptions{ClientID: "me", Username: "u", Password: "p"},
			answer:  accepted5,
			want: packets.Connect{
				ClientID: "me", UsernameFlag: true, Username: "u", PasswordFlag: true, Password: []byte("p"),
				CleanStart: true,
			},
			disconnect: []byte{0xe0, 0},
		},
		"MQTT 5, persistent": {
			options:    SubscriberOptions{ClientID: "me", Persistent: true},
			answer:     accepted5,
			want:       packets.Connect{ClientID: "me"},
			disconnect: []byte{0xe0, 7, 0, 5, 0x11, 0, 0, 0, 0},
		},
		"3.1.1": {
			options: SubscriberOptions{ClientID: "me", Username: "u", Password: "p", Version: 4},
			answer:  accepted311,
			raw: []byte{0x10, 20, 0, 4, 'M', 'Q', 'T', 'T', 4, 0xc2, 0, 30, 0, 2, 'm', 'e', 0, 1, 'u', 0,
				1, 'p'},
			disconnect: []byte{0xe0, 0},
		},
		"3.1.1, persistent": {
			options:    SubscriberOptions{ClientID: "me", Version: 4, Persistent: true},
			answer:     accepted311,
			raw:        []byte{0x10, 14, 0, 4, 'M', 'Q', 'T', 'T', 4, 0, 0, 30, 0, 2, 'm', 'e'},
			disconnect: []byte{0xe0, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(c.answer)
			c.options.URL, c.options.Dial = "mqtt://broker", s.dial
			conn, err := Connect(t.Context(), c.options)
			require.NoError(t, err)
			assert.False(t, conn.SessionPresent())
			conn.Close()
			sent := <-s.got
			require.Len(t, sent, 2)
			assert.Equal(t, c.disconnect, sent[1])
			if c.raw != nil {
				assert.Equal(t, c.raw, sent[0])
				return
			}
			read, err := packets.ReadPacket(bytes.NewReader(sent[0]))
			require.NoError(t, err)
			got := *read.Content.(*packets.Connect)
			assert.Equal(t, uint16(receiveMaximum), *got.Properties.ReceiveMaximum)
			if c.options.Persistent {
				assert.Equal(t, uint32(3600), *got.Properties.SessionExpiryInterval)
			} else {
				assert.Nil(t, got.Properties.SessionExpiryInterval)
			}
			got.Properties = nil
			c.want.ProtocolName, c.want.ProtocolVersion, c.want.KeepAlive = "MQTT", 5, 30
			if c.want.Password == nil {
				got.Password = nil
			}
			assert.Equal(t, c.want, got)
		})
	}
}

func TestARefusedConnectionNamesTheReason(t *testing.T) {
	const another = " (is it a broker, and does it speak MQTT on this port, and not TLS or HTTP?)"
	t.Parallel()
	for _, c := range []struct {
		version int
		connack []byte
		want    string
		refused bool // the error is ErrRefused
	}{
		{4, []byte{0x20, 2, 0, 5}, ` refused user "u": Not authorized`, true},
		{4, []byte{0x20, 2, 0, 4}, ` refused user "u": Bad User Name or Password`, true},
		{4, []byte{0x20, 2, 0, 3}, ` refused the connection: Server unavailable`, false},
		{4, []byte{0x20, 2, 0, 99}, `: Protocol Error: CONNACK has the return code 99`, false},
		{5, []byte{0x20, 3, 0, 0x87, 0}, ` refused user "u": Not authorized`, true},
		{5, []byte{0x20, 8, 0, 0x88, 5, 0x1f, 0, 2, 'h', 'i'}, ` refused the connection: Server unavailable (hi)`,
			false},
		{5, []byte{0x20, 3, 0, 0xff, 0}, ` refused the connection: reason code 0xff`, true},
		// An MQTT 3.1.1 broker.
		{5, []byte{0x20, 2, 0, 1}, ` refused the connection: Unsupported Protocol Version`, true},
		{5, []byte{0xf0, 0}, `: Protocol Error: it answered CONNECT with AUTH` + another, false},
		{5, []byte("HTTP/1.1 400 Bad Request\r\n\r\n"), `: Malformed Packet: PUBACK has the flags 1000` +
			another, false},
		// an alert of TLS
		{4, []byte{0x15, 3, 3, 0, 2, 2, 70}, `: Malformed Packet: CONNECT has the flags 0101` + another, false},
		{5, []byte{0x20, 3, 0, 1, 0}, `: Protocol Error: CONNACK has the reason code 0x01`, false},
		{5, []byte{0x20, 1, 0}, `: Malformed Packet: CONNACK has the bytes 00`, false},
	} {
		s := newScript(c.connack)
		_, err := Connect(t.Context(),
			SubscriberOptions{URL: "mqtt://broker", Username: "u", Version: c.version, Dial: s.dial})
		require.EqualError(t, err, "MQTT broker broker:1883"+c.want)
		assert.Equal(t, c.refused, errors.Is(err, mqtt.ErrRefused), c.want)
	}
}

func TestARefusedSubscriptionNamesTheReason(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		version int
		suback  []byte
		want    string
	}{
		{4, []byte{0x90, 4, 0, 1, 1, 0x80},
			" refused the subscription to b: Unspecified error (no reason given; is the user allowed to read this topic?)"},
		{5, []byte{0x90, 5, 0, 1, 0, 1, 0x87}, " refused the subscription to b: Not authorized"},
		{5, []byte{0x90, 5, 0, 1, 0, 0x9e, 0x9e}, " refused the subscription to a: Shared Subscriptions not supported"},
		{5, []byte{0x90, 5, 0, 1, 0, 1, 0}, ": it grants QoS 0 on b, less than the 1 that was asked for: use QoS 0"},
		{5, []byte{0x90, 5, 0, 9, 0, 1, 1}, ": Protocol Error: SUBACK has the packet id 9; SUBSCRIBE had 1"},
		{5, []byte{0x90, 4, 0, 1, 0, 1}, ": Protocol Error: SUBACK has 1 codes for 2 topics"},
		{5, []byte{0xe0, 1, 0x8b}, " ended the connection: Server shutting down"},
		{5, []byte{0xb0, 0}, " answered SUBSCRIBE with UNSUBACK"},
	} {
		s := newScript(map[int][]byte{4: accepted311, 5: accepted5}[c.version], c.suback)
		conn, err := Connect(t.Context(), SubscriberOptions{URL: "mqtt://broker", Version: c.version, Dial: s.dial})
		require.NoError(t, err)
		require.EqualError(t, conn.Subscribe(t.Context(), []string{"a", "b"}, 1), "MQTT broker broker:1883"+c.want)
		conn.Close()
	}
}

func TestInvalidOptionsAreRefusedBeforeSending(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]SubscriberOptions{
		"a password for the MQTT broker needs a user name":                  {Password: "p"},
		"the client id for the MQTT broker has 65536 bytes; allowed: 65535": {ClientID: string(make([]byte, 65536))},
	} {
		o.URL = "mqtt://broker"
		_, err := Connect(t.Context(), o)
		assert.EqualError(t, err, want)
	}
	c, _ := connected(t)
	assert.EqualError(t, c.Subscribe(t.Context(), []string{""}, 1),
		"a topic to subscribe to has 0 bytes; allowed: 1 to 65535")
}

// A session's messages may come in the same read as CONNACK, and before SUBACK.
func TestMessagesBeforeReadAreDelivered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		resumed := append([]byte{0x20, 3, 1, 0, 0}, publishPacket(t, 1, 1, nil, "after CONNACK")...)
		suback := append(publishPacket(t, 2, 2, nil, "before SUBACK"), 0x90, 4, 0, 1, 0, 2)
		suback = append(suback, publishPacket(t, 0, 0, nil, "after SUBACK")...)
		s := newScript(resumed, suback)
		c, err := Connect(t.Context(),
			SubscriberOptions{URL: "mqtt://broker", ClientID: "me", Persistent: true, Dial: s.dial})
		require.NoError(t, err)
		assert.True(t, c.SessionPresent())
		require.NoError(t, c.Subscribe(t.Context(), []string{"messages/#"}, 2))
		var got []string
		began := time.Now()
		time.Sleep(time.Millisecond) // of synctest's clock
		err = c.Read("hops", func(messages []Message) {
			for _, m := range messages {
				got = append(got, string(m.Payload))
				assert.True(t, m.At.After(began))
				assert.Equal(t, socket.Unknown, m.Waited)
			}
			go func() {
				synctest.Wait() // until everything is read and acknowledged
				c.Close()
			}()
		})
		require.ErrorIs(t, err, net.ErrClosed)
		assert.Equal(t, []string{"after CONNACK", "before SUBACK", "after SUBACK"}, got)
		sent := <-s.got
		assert.Equal(t, []string{"40020001", "50020002"},
			[]string{fmt.Sprintf("%x", sent[2]), fmt.Sprintf("%x", sent[3])})
	})
}

func TestRequestsWithoutAnAnswerTimeOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := newScript(nil, nil)
		_, err := Connect(t.Context(), SubscriberOptions{URL: "mqtt://broker", Dial: s.dial})
		require.EqualError(t, err, "MQTT broker broker:1883: CONNECT: no answer within 10s")
		assert.Equal(t, connectTimeout, time.Since(began))
		<-s.got

		s = newScript(accepted5, nil)
		c, err := Connect(t.Context(), SubscriberOptions{URL: "mqtt://broker", Dial: s.dial})
		require.NoError(t, err)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(fmt.Errorf("the run was stopped"))
		require.EqualError(t, c.Subscribe(ctx, []string{"a"}, 0),
			"MQTT broker broker:1883: SUBSCRIBE: the run was stopped")
		c.Close()
		<-s.got
	})
}

func TestPingsDetectASilentBroker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// The broker sets a keep-alive of 10 s [MQTT-3.2.2-21] and answers only three pings.
		pong := []byte{packets.PINGRESP << 4, 0}
		s := newScript([]byte{0x20, 6, 0, 0, 3, 0x13, 0, 10}, pong, pong, pong)
		c, err := Connect(t.Context(), SubscriberOptions{URL: "mqtt://broker", Dial: s.dial})
		require.NoError(t, err)
		began := time.Now()
		_, err = collect(c)
		require.EqualError(t, err, "MQTT broker broker:1883 is silent: no answer to a ping within 5s")
		// Pings at 5, 10, 15 and 20 s; at 25 s the last is unanswered.
		assert.Equal(t, 25*time.Second, time.Since(began))
		c.Close()
		<-s.got
	})
}

// Regression: where the broker did not read a ping or an acknowledgement either, nobody looked at the time any more.
func TestABrokerThatReadsNothingIsSilent(t *testing.T) {
	t.Parallel()
	for name, sends := range map[string][]byte{
		"sends nothing":                nil,
		"sends what is to be answered": publishPacket(t, 1, 1, nil, "x"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours, theirs := net.Pipe() // it has no buffer: a write waits for the broker
			go func() {
				nextPacket(bufio.NewReader(theirs))
				keepAlive := []byte{0x20, 6, 0, 0, 3, packets.PropServerKeepAlive, 0, 1} // 1 s
				_, _ = theirs.Write(append(keepAlive, sends...))
			}()
			dial := func(context.Context, string, string) (net.Conn, error) { return ours, nil }
			c, err := Connect(t.Context(), SubscriberOptions{URL: "mqtt://broker", Dial: dial})
			require.NoError(t, err)
			_, err = collect(c)
			require.ErrorContains(t, err, "is silent: no answer to a ping within 500ms")
			c.Close()
		})
	}
}

// Regression: it was on the wall clock. Where that is set during a run, a gap began hours before or after the run.
func TestTheTimeOfTheLastBytesIsMonotonic(t *testing.T) {
	t.Parallel()
	c, broker := connected(t)
	got := make(chan struct{}, 1)
	go func() { _ = c.Read("", func([]Message) { got <- struct{}{} }) }()
	_, err := broker.Write(publishPacket(t, 0, 0, nil, "last"))
	require.NoError(t, err)
	<-got
	last, err := c.Answers(time.Millisecond)
	require.Error(t, err)
	assert.NotEqual(t, last.Round(0), last, "Round removes the monotonic reading")
}

func TestASlowHandlerIsNotASilentBroker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(append(accepted5, publishPacket(t, 0, 0, nil, "x")...))
		c, err := Connect(t.Context(), SubscriberOptions{URL: "mqtt://broker", Dial: s.dial})
		require.NoError(t, err)
		err = c.Read("", func([]Message) {
			time.Sleep(10 * keepAlive)
			go c.Close()
		})
		require.ErrorIs(t, err, net.ErrClosed)
		<-s.got
	})
}

package mqtt

import (
	"context"
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// exchange sends as the broker and returns the delivered payloads and the acknowledgements (hex).
func exchange(t *testing.T, sent []byte, acks int) (payloads []string, acknowledged string) {
	t.Helper()
	c, broker := connected(t)
	got := make(chan string, 1)
	go func() {
		_, _ = broker.Write(sent)
		b := make([]byte, 4*acks)
		for n := 0; n < len(b); {
			k, err := broker.Read(b[n:])
			if err != nil {
				break
			}
			n += k
		}
		got <- fmt.Sprintf("%x", b)
		_ = broker.Close()
	}()
	all, _ := collect(c)
	for _, m := range all {
		payloads = append(payloads, m.Payload)
	}
	return payloads, <-got
}

func joined(packets ...[]byte) (all []byte) {
	for _, p := range packets {
		all = append(all, p...)
	}
	return all
}

func pubrel(id uint16) []byte { return []byte{0x62, 2, byte(id >> 8), byte(id)} }

// resent returns a copy of a PUBLISH with the DUP flag.
func resent(publish []byte) []byte {
	p := append([]byte(nil), publish...)
	p[0] |= 8
	return p
}

func TestAQoS2MessageIsDeliveredOnceAtItsFirstPublish(t *testing.T) {
	t.Parallel()
	one, two := publishPacket(t, 1, 2, nil, "one"), publishPacket(t, 0xffff, 2, nil, "two")
	payloads, acks := exchange(t, joined(one, resent(one), two, pubrel(1), resent(two), pubrel(0xffff)), 6)
	assert.Equal(t, []string{"one", "two"}, payloads)
	assert.Equal(t, "50020001"+"50020001"+"5002ffff"+"70020001"+"5002ffff"+"7002ffff", acks)
}

func TestAPacketIDIsFreeAfterItsRelease(t *testing.T) {
	t.Parallel()
	payloads, acks := exchange(t,
		joined(publishPacket(t, 1, 2, nil, "one"), pubrel(1), publishPacket(t, 1, 2, nil, "two")), 3)
	assert.Equal(t, []string{"one", "two"}, payloads)
	assert.Equal(t, "50020001"+"70020001"+"50020001", acks)
}

// A broker may release an unknown id. It waits for PUBCOMP before it reuses the id [MQTT-4.3.3-9].
func TestAnUnknownReleaseIsCompleted(t *testing.T) {
	t.Parallel()
	payloads, acks := exchange(t, pubrel(7), 1)
	assert.Empty(t, payloads)
	assert.Equal(t, "70020007", acks)
}

func TestQoS1AndQoS2IDsAreSeparate(t *testing.T) {
	t.Parallel()
	payloads, _ := exchange(t, joined(
		publishPacket(t, 1, 2, nil, "two"), publishPacket(t, 1, 1, nil, "one"),
		resent(publishPacket(t, 1, 1, nil, "one")),
	), 3)
	assert.Equal(t, []string{"two", "one", "one"}, payloads) // QoS 1 may deliver twice: the ledger counts it
}

// PUBREC is lost with the connection, so the broker resends the message over the next one.
func TestAQoS2MessageIsNotDeliveredAgainAfterAReconnect(t *testing.T) {
	t.Parallel()
	for _, present := range []byte{1, 0} {
		one := publishPacket(t, 1, 2, nil, "one")
		dials := 0
		o := SubscriberOptions{URL: "mqtt://broker", ClientID: "me", Persistent: true}
		o.Dial = func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			answer := joined([]byte{0x20, 3, 0, 0, 0}, one)
			if dials++; dials == 2 {
				answer = joined([]byte{0x20, 3, present, 0, 0}, resent(one))
			}
			go func() {
				_, _ = theirs.Read(make([]byte, 1000)) // CONNECT, whole: it is one write
				_, _ = theirs.Write(answer)
				_ = theirs.Close()
			}()
			return ours, nil
		}
		first, err := Connect(t.Context(), o)
		require.NoError(t, err)
		got, err := collect(first)
		require.Error(t, err)
		require.Len(t, got, 1)

		second, err := first.Reconnect(t.Context())
		require.NoError(t, err)
		assert.Equal(t, present == 1, second.SessionPresent())
		got, _ = collect(second)
		assert.Len(t, got, 1-int(present)) // in a new session the id belongs to another message
		second.Close()
	}
}

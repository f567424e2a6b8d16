package main

import (
	"bufio"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"github.com/eclipse/paho.golang/packets"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// startMosquitto starts a broker without credentials.
func startMosquitto(t testing.TB) *test.Process {
	t.Helper()
	return test.StartMosquitto(t, nil, test.Anyone)
}

// connect opens a connection of MQTT 5, on which the caller writes and reads packets.
func connect(t testing.TB, address, id, username, password string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	packet := packets.NewControlPacket(packets.CONNECT)
	c := packet.Content.(*packets.Connect)
	c.ClientID, c.CleanStart = id, true
	c.Username, c.UsernameFlag = username, username != ""
	c.Password, c.PasswordFlag = []byte(password), username != ""
	_, err = packet.WriteTo(conn)
	require.NoError(t, err)
	answer, err := packets.ReadPacket(conn)
	require.NoError(t, err)
	require.Zero(t, answer.Content.(*packets.Connack).ReasonCode)
	return conn
}

// directBroker starts a broker without topics: it calls subscribed with the connection of its one subscriber, and
// the caller writes packets there. It takes less CPU than a real broker.
func directBroker(t testing.TB, subscribed func(net.Conn)) (url string) {
	t.Helper()
	l := listen(t)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serveSubscriber(conn, subscribed)
		}
	}()
	return "mqtt://" + l.Addr().String()
}

// silentBroker starts a broker that sends no messages.
func silentBroker(t testing.TB) (url string) {
	t.Helper()
	return directBroker(t, func(net.Conn) {})
}

func serveSubscriber(conn net.Conn, subscribed func(net.Conn)) {
	defer func() { _ = conn.Close() }()
	for {
		packet, err := packets.ReadPacket(conn)
		if err != nil {
			return
		}
		_, err = conn.Write(fake.Reply(packet)) // one write can't split a packet of the other writer
		if err != nil {
			return
		}
		if packet.Type == packets.SUBSCRIBE {
			subscribed(conn)
		}
	}
}

// sink is a subscriber that acknowledges and counts messages, and ignores their content.
type sink struct{ taken atomic.Int64 }

// startSink subscribes to the topics of the default flow.
func startSink(t testing.TB, address, username, password string) *sink {
	t.Helper()
	conn := connect(t, address, "sink", username, password)
	packet := packets.NewControlPacket(packets.SUBSCRIBE)
	s := packet.Content.(*packets.Subscribe)
	s.PacketID = 1
	for i := range 100 {
		s.Subscriptions = append(s.Subscriptions, packets.SubOptions{Topic: fmt.Sprint("messages/user/", i), QoS: 1})
	}
	_, err := packet.WriteTo(conn)
	require.NoError(t, err)
	k := &sink{}
	go k.read(conn)
	return k
}

// read acknowledges what has come together in one write.
func (k *sink) read(conn net.Conn) {
	in, out := bufio.NewReaderSize(conn, 64<<10), bufio.NewWriter(conn)
	for {
		packet, err := packets.ReadPacket(in)
		if err != nil {
			return
		}
		p, ok := packet.Content.(*packets.Publish)
		if !ok {
			continue
		}
		k.taken.Add(1)
		answer := packets.NewControlPacket(packets.PUBACK)
		answer.Content.(*packets.Puback).PacketID = p.PacketID
		_, err = answer.WriteTo(out)
		if err == nil && in.Buffered() == 0 {
			err = out.Flush()
		}
		if err != nil {
			return
		}
	}
}

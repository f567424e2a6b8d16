package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/mqtt"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// ingest is a cheap ingest: it answers 202, counts messages and forwards them. It runs in the bench's own process,
// whose CPU is not measured.
type ingest struct {
	url      string
	requests atomic.Int64
	messages atomic.Int64

	mu  sync.Mutex
	out net.Conn // receives messages; nil: forward nothing
	buf []byte
	// append appends a message as out takes it.
	append func(buf, target, payload []byte, at time.Time) []byte
}

const token = "bench-token"

// startIngest starts an ingest that forwards messages to out, which may be nil.
func startIngest(t testing.TB, out net.Conn) *ingest {
	l := listen(t)
	in := &ingest{url: "http://" + l.Addr().String(), out: out, append: appendPublish}
	server := &fasthttp.Server{Handler: in.serve, NoDefaultServerHeader: true}
	go func() { _ = server.Serve(l) }()
	return in
}

func (in *ingest) serve(ctx *fasthttp.RequestCtx) {
	if in.forward(ctx.PostBody()) {
		ctx.SetStatusCode(fasthttp.StatusAccepted)
		ctx.SetContentType("application/json; charset=utf-8")
		ctx.SetBodyString(`{"accepted":1}`)
	} else {
		ctx.SetStatusCode(fasthttp.StatusServiceUnavailable)
	}
	in.requests.Add(1)
}

func (in *ingest) forwardTo(to net.Conn) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.out = to
}

// forward writes the messages of a body in one write. It blocks when the subscriber is slow, and so delays the load.
func (in *ingest) forward(body []byte) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.out == nil {
		in.messages.Add(int64(bytes.Count(body, between)) + 1)
		return true
	}
	n, at := int64(0), time.Now()
	in.buf = in.buf[:0]
	split(body, func(message []byte) {
		in.buf = in.append(in.buf, target(message), message, at)
		n++
	})
	if _, err := in.out.Write(in.buf); err != nil {
		return false
	}
	in.messages.Add(n)
	return true
}

// between separates two messages of a batch: the bench knows the JSON that k6 sends, and need not parse it.
var between = []byte(`},{"id":"`)

// split calls each with every message of a body, which is one message or an array.
func split(body []byte, each func(message []byte)) {
	if len(body) < 2 || body[0] != '[' {
		each(body)
		return
	}
	body = body[1 : len(body)-1]
	for i := bytes.Index(body, between); i >= 0; i = bytes.Index(body, between) {
		each(body[:i+1])
		body = body[i+2:]
	}
	each(body)
}

var targetKey = []byte(`"target":"`)

// target returns the target of a message, or nil.
func target(message []byte) []byte {
	_, rest, _ := bytes.Cut(message, targetKey)
	value, _, _ := bytes.Cut(rest, []byte{'"'})
	return value
}

// appendPublish appends a PUBLISH packet of QoS 0 with the user property hops, as the pipeline's relay writes it.
func appendPublish(b, target, payload []byte, at time.Time) []byte {
	hops := append(strconv.AppendInt(make([]byte, 0, 48), at.UnixMicro(), 10), ",35,112,40"...)
	p := mqtt.Publish{
		Topic: append([]byte("messages/"), target...), Payload: payload,
		Properties: mqtt.AppendUserProperty(nil, "hops", hops),
	}
	return p.Append(b, mqtt.Version5)
}

// startMosquitto starts a broker without credentials.
func startMosquitto(t testing.TB) *test.Process {
	return test.StartMosquitto(t, nil, test.Anyone)
}

// connect opens a connection of MQTT 5, on which the caller writes and reads packets.
func connect(t testing.TB, address, id, username, password string) net.Conn {
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

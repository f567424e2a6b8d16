package engine

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/send"
)

// published runs a script with publishers, whose subscribers connect to broker.
func published(t *testing.T, broker, publishers string) *runfile.Run {
	t.Helper()
	s := newScript(t, &fake.Pipeline{},
		"phases: [{duration: 1, arrivalRate: 100}]\nflows: [{name: direct, targets: 5}]",
		fmt.Sprintf("idle: '100ms', mqtt: { url: 'mqtt://%s' }, publishers: { %s }", broker, publishers))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var work sync.WaitGroup
	work.Go(func() { s.engine.Pump(ctx, s.state) })
	require.NoError(t, s.engine.collect(ctx, s.state, s.metrics))
	work.Wait()
	require.NoError(t, s.engine.write())
	return s.written()
}

func figureOf(t *testing.T, r *runfile.Run, name string) float64 {
	t.Helper()
	for _, f := range r.Figures {
		if f.Name == name {
			return *f.Value
		}
	}
	t.Fatalf("no figure %q", name)
	return 0
}

func TestManyConnectionsPublishEveryMessage(t *testing.T) {
	t.Parallel()
	m := startMosquitto(t)
	for qos := range 2 {
		options := fmt.Sprintf("url: 'mqtt://%s', connections: 30, rate: 100, qos: %d }, idle: '1m', labels: {",
			m.address, qos)
		r := published(t, m.address, options)
		assert.Equal(t, 100, r.Account.Arrived, "QoS %d", qos)
		assert.Equal(t, 100, r.Account.Requests.Sent)
		held := figureOf(t, r, runfile.FigureHeld) // a stalled machine opens the rest too late
		assert.True(t, held > 0 && held <= 30, "%g held", held)
		assert.Zero(t, figureOf(t, r, send.FigureRefused)+figureOf(t, r, runfile.FigureLost))
		assert.Empty(t, r.Errors)
		if qos == 1 {
			assert.Positive(t, *r.Latency.HTTP.Max, "the time until PUBACK")
		}
	}
}

func TestConnectionsAreSpreadOverBrokers(t *testing.T) {
	t.Parallel()
	one, two := startMosquitto(t).address, startMosquitto(t).address
	s := newScript(t, &fake.Pipeline{},
		"phases: [{duration: 1, arrivalRate: 100}]\nflows: [{name: direct, targets: 5}]", fmt.Sprintf(
			"mqtt: { url: 'mqtt://%[1]s', more: ['mqtt://%[2]s'] },"+
				"publishers: { url: 'mqtt://%[1]s', more: ['mqtt://%[2]s'], connections: 30, rate: 100, qos: 1 }", one, two))
	e := s.engine
	assert.Equal(t, []string{"mqtt://" + one, "mqtt://" + two, "mqtt://" + one},
		[]string{e.options.Publishers.Broker(0), e.options.Publishers.Broker(1), e.options.Publishers.Broker(2)})

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var work sync.WaitGroup
	work.Go(func() { e.Pump(ctx, s.state) })
	require.NoError(t, e.collect(ctx, s.state, s.metrics))
	work.Wait()
	require.NoError(t, e.write())
	r := s.written()
	assert.Equal(t, []int{100, 0}, []int{r.Account.Arrived, r.Account.Duplicates})
	assert.Empty(t, r.Errors)
}

// brokerOf starts a server that answers CONNECT with a receive maximum of 5 and calls then.
func brokerOf(t *testing.T, then func(conn net.Conn)) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				defer func() { _ = conn.Close() }()
				if _, err := packets.ReadPacket(conn); err != nil {
					return
				}
				_, _ = conn.Write([]byte{packets.CONNACK << 4, 6, 0, 0, 3, packets.PropReceiveMaximum, 0, 5})
				then(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		work.Wait()
	})
	return listener.Addr().String()
}

func TestMessagesOfLostConnectionsAreAccountedFor(t *testing.T) {
	t.Parallel()
	m := startMosquitto(t)
	cutting := brokerOf(t, func(conn net.Conn) { _, _ = packets.ReadPacket(conn) }) // closes after one message
	r := published(t, m.address, fmt.Sprintf("url: 'mqtt://%s', connections: 10, rate: 1000, qos: 1", cutting))
	lost := figureOf(t, r, runfile.FigureLost)
	assert.True(t, lost > 0 && lost <= 10, "%g lost", lost)
	a := r.Account
	assert.True(t, a.Balanced)
	assert.Positive(t, a.Unknown)
	assert.Zero(t, a.Arrived)
	assert.Equal(t, 100, a.Dropped+a.Unknown+a.Rejected)
	result, _, _ := verdict(r)
	assert.NotEqual(t, runfile.Pass, result)
}

func TestRefusedConnectionsDropTheirMessages(t *testing.T) {
	t.Parallel()
	m := startMosquitto(t)
	r := published(t, m.address, "url: 'mqtt://127.0.0.1:1', connections: 10, rate: 1000")
	assert.Equal(t, 10.0, figureOf(t, r, send.FigureRefused))
	assert.Equal(t, 100, r.Account.Dropped)
	require.NotEmpty(t, r.Errors)
	assert.Equal(t, "no connection: refused", r.Errors[0].Class)
}

func TestMessagesWithoutPUBACKAreUnknown(t *testing.T) {
	t.Parallel()
	m := startMosquitto(t)
	silent := brokerOf(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	r := published(t, m.address,
		fmt.Sprintf("url: 'mqtt://%s', connections: 1, rate: 1000, qos: 1 }, timeout: '1s', labels: {", silent))
	a := r.Account
	assert.True(t, a.Balanced)
	assert.Zero(t, a.Arrived)
	assert.Positive(t, a.Unknown)
	assert.LessOrEqual(t, a.Unknown, 5, "at most the receive maximum")
	assert.Equal(t, 100, a.Unknown+a.Rejected+a.Dropped)
	assert.Equal(t, 1.0, figureOf(t, r, runfile.FigureLost), "no PUBACK within the timeout")
}

func TestInvalidPublishersOptionsAreRefused(t *testing.T) {
	t.Parallel()
	const open = "phases: [{duration: 1, arrivalRate: 1}]\nflows: [{name: direct}]"
	for _, c := range []struct{ profile, options, want string }{
		{open, "url: 'ws://h', connections: 1, rate: 1",
			"publishers.url: WebSocket is not for connections by the thousand; allowed: mqtt, tcp, mqtts, ssl, tls"},
		{open, "url: 'mqtt://h', rate: 1", "publishers.connections 0: must be 1 or more"},
		{open, "url: 'mqtt://h', connections: 1", "publishers.rate 0: connections a second, above 0"},
		{open, "url: 'mqtt://h', connections: 1, rate: 1, qos: 2", "publishers.qos 2 is not 0 or 1"},
		{"phases: [{duration: 1, vus: 1}]\nflows: [{name: direct}]", "url: 'mqtt://h', connections: 1, rate: 1",
			"publishers need a profile with arrival rates: with vus a message is due when an answer is there"},
		{"phases: [{duration: 1, arrivalRate: 1}]\nflows: [{name: b, messages: 2}]",
			"url: 'mqtt://h', connections: 1, rate: 1",
			"publishers send one message at a time, but flow \"b\" has 2 in a request"},
	} {
		_, err := made(t,
			fmt.Sprintf("{ ingest: {url: 'http://h'}, mqtt: {url: 'mqtt://h'}, profile: %q, publishers: { %s } }", c.profile,
				c.options))
		assert.ErrorContains(t, err, c.want)
	}
}

package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// The subscriber's load is 20,000 messages of 200 B per second through Mosquitto at QoS 0, 100 at a time.
const (
	messageRate  = 20_000
	messageBytes = 200
	batch        = 100
)

// overhead is the length of a message without its payload; most numbers of a run have 6 digits.
var overhead = len(`{"id":"01234567.1.123456","source":"k6","target":"user/12","payload":""}`)

func batches(seconds float64, rate int) string {
	flow := fmt.Sprintf(", messages: %d, payloadBytes: %d", batch, messageBytes-overhead)
	return phase(seconds, float64(rate/batch), flow)
}

// BenchmarkSubscriber compares only the receiving. The native k6 also sends, because its ledger has to know what it
// expects. So the CPU of sending alone is measured too and subtracted, and for the handler the CPU of waiting.
func BenchmarkSubscriber(b *testing.B) {
	broker, clock := startMosquitto(b), test.Redis(b)
	var both, sends use
	rounds(b, func(t testing.TB) use {
		fed := handler(t, broker.Address(), true)
		return fed.without(handler(t, broker.Address(), false))
	}, func(t testing.TB) use {
		both, sends = native(t, broker.Address(), clock, true), native(t, broker.Address(), clock, false)
		return both.without(sends)
	}, func(b *testing.B, baseline, ours use) {
		reportCost(b, "", baseline, ours)
		b.ReportMetric(both.perItem(), "ours:with-sending")
		if baseline.rate() < 0.95*messageRate {
			b.Logf("the JS handler took %.0f of %d messages/s: it fell behind", baseline.rate(), messageRate)
		}
	})
}

// native measures k6 with the native instrument. Without receiving, its messages are counted and dropped.
func native(t testing.TB, broker, clock string, receiving bool) use {
	var out net.Conn
	var mqtt string
	if receiving {
		out, mqtt = connect(t, broker, "bench", "", ""), "mqtt://"+broker
	} else {
		mqtt = silentBroker(t)
	}
	in := startIngest(t, out)
	o := sending(batches(runSeconds(), messageRate), 4, in.url, token, mqtt)
	o["redis"] = options{"url": clock}
	return in.observed(t, pumped(t, o), receiving)
}

// observed measures a k6 to which the ingest forwards messages, if it is fed.
func (in *ingest) observed(t testing.TB, p *program, fed bool) use {
	u := observe(t, map[string]int{"k6": p.PID}, counting(&in.messages), p)
	if fed {
		finish(t, p)
	} else {
		p.Kill()
	}
	return u
}

// handler measures k6 with a message handler in JavaScript, which gets the load through the broker if fed.
func handler(t testing.TB, broker string, fed bool) use {
	conn, api := connect(t, broker, "bench", "", ""), test.FreeAddress(t)
	p := k6(t, "handler.js", []string{"MQTT_URL=mqtt://" + broker}, "--address", api, "--summary-mode", "disabled")
	defer p.Kill()
	began := time.Now()
	count := func() (int64, error) { return int64(messageRate * time.Since(began).Seconds()), nil }
	feed, stop := context.WithCancel(ctx)
	defer stop()
	if fed {
		count = func() (int64, error) { return received(api) }
		go func() {
			defer stop()
			feedHandler(feed, conn)
		}()
	}
	u := observe(t, map[string]int{"k6": p.PID}, count, p)
	require.NoError(t, feed.Err(), "mosquitto took no more messages")
	return u
}

// feedHandler publishes the load of the handler until ctx ends or the broker takes no more.
func feedHandler(ctx context.Context, conn net.Conn) {
	var buf []byte
	ticks := time.NewTicker(time.Second / (messageRate / batch))
	defer ticks.Stop()
	for n := 0; ; n += batch {
		select {
		case <-ctx.Done():
			return
		case now := <-ticks.C:
			buf = buf[:0]
			for i := range batch {
				target := fmt.Appendf(nil, "user/%02d", i)
				buf = appendPublish(buf, target, message(n+i, target, now), now)
			}
			if _, err := conn.Write(buf); err != nil {
				return
			}
		}
	}
}

// message makes a message for the handler: as long as the native ones, with the time that its latency starts at.
func message(n int, target []byte, at time.Time) []byte {
	head := fmt.Sprintf(`{"id":"01234567.1.%06d","source":"k6","target":"%s","at":%d,"payload":"`,
		n, target, at.UnixMilli())
	return []byte(head + strings.Repeat("x", max(0, messageBytes-len(head)-2)) + `"}`)
}

// received reads from k6 how many messages its handler got: what the broker sent may wait in a socket.
func received(api string) (int64, error) {
	status, body, err := get("http://" + api + "/v1/metrics/mqtt_messages_received")
	if err != nil || status != http.StatusOK {
		return 0, err // there is none before the first message
	}
	var metric struct {
		Data struct {
			Attributes struct{ Sample struct{ Count float64 } }
		}
	}
	err = json.Unmarshal(body, &metric)
	return int64(metric.Data.Attributes.Sample.Count), err
}

const memoryRate = 50_000 // messages per second

func BenchmarkMemory(b *testing.B) {
	in := startIngest(b, nil)
	profile := batches(float64(set.messages)/memoryRate, memoryRate)
	o := sending(profile, 4, in.url, token, directBroker(b, in.forwardTo))
	o["redis"] = options{"url": test.Redis(b)}
	p := pumped(b, o)
	arrived := finish(b, p)
	peak, err := peakOf(p.State())
	require.NoError(b, err)
	report(b, "", memoryLimit, float64(peak)/(1<<20))
	b.ReportMetric(float64(arrived), "messages")
	b.ReportMetric(0, "ns/op")
}

// socketRate is what a handler in JavaScript keeps up with on one core, messages/s.
const socketRate = 10_000

// BenchmarkWebsocket compares only the receiving, as BenchmarkSubscriber does: both sides send the load, and what that
// costs is measured too and subtracted. The baseline is a script's client of k6, which calls run.arrived().
func BenchmarkWebsocket(b *testing.B) {
	side := func(by func(testing.TB, *pushing, bool) use) func(testing.TB) use {
		return func(t testing.TB) use {
			push := startPushing(t)
			return by(t, push, true).without(by(t, push, false))
		}
	}
	rounds(b, side(scripted), side(nativeSocket),
		func(b *testing.B, baseline, ours use) { reportCost(b, "", baseline, ours) })
}

// pushing is an ingest that pushes messages to the latest client of a WebSocket.
type pushing struct {
	*ingest
	url string
}

func startPushing(t testing.TB) *pushing {
	l, in := listen(t), startIngest(t, nil)
	in.append = func(buf, _, payload []byte, _ time.Time) []byte { return appendFrame(buf, text, payload) }
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	serve := func(w http.ResponseWriter, r *http.Request) {
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return // it has answered
		}
		defer func() { _ = conn.Close() }()
		// Gorilla's own answer leaves a deadline for all later writes.
		conn.SetPingHandler(func(data string) error {
			in.mu.Lock()
			defer in.mu.Unlock()
			_, err := conn.NetConn().Write(appendFrame(nil, pong, []byte(data)))
			return err
		})
		if r.URL.Path == "/fed" {
			in.forwardTo(conn.NetConn())
			defer in.forwardTo(nil)
		}
		for err == nil {
			_, _, err = conn.ReadMessage()
		}
	}
	go func() { _ = http.Serve(l, http.HandlerFunc(serve)) }()
	return &pushing{ingest: in, url: "ws://" + l.Addr().String()}
}

// Opcodes of RFC 6455, 5.2.
const text, pong = 0x1, 0xA

// appendFrame appends a frame of a server, of less than 64 KB. Gorilla makes a system call of each.
func appendFrame(b []byte, opcode byte, payload []byte) []byte {
	const final, long = 0x80, 126
	b = append(b, final|opcode)
	if len(payload) < long {
		b = append(b, byte(len(payload)))
	} else {
		b = binary.BigEndian.AppendUint16(append(b, long), uint16(len(payload)))
	}
	return append(b, payload...)
}

func (p *pushing) options(source string, value options) options {
	return options{
		"profile": batches(runSeconds(), socketRate), "senders": 4, "canary": false, "greet": false,
		"ingest": options{"url": p.ingest.url, "token": token}, source: value,
	}
}

func (p *pushing) path(fed bool) string {
	if fed {
		return p.url + "/fed"
	}
	return p.url + "/idle"
}

// nativeSocket measures k6 with the native receiver. Without receiving, its messages are counted and dropped.
func nativeSocket(t testing.TB, push *pushing, fed bool) use {
	return push.observed(t, pumped(t, push.options("websocket", options{"url": push.path(fed)})), fed)
}

// scripted measures k6 with a client in JavaScript.
func scripted(t testing.TB, push *pushing, fed bool) use {
	p := arrival(t, "websocket.js", push.options("arrived", options{}), "PUSH_URL="+push.path(fed))
	p.pprof = "" // profiles are of our sides
	return push.observed(t, p, fed)
}

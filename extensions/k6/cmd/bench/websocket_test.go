package main

import (
	"encoding/binary"
	"net/http"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

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
	t.Helper()
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
	t.Helper()
	return push.observed(t, pumped(t, push.options("websocket", options{"url": push.path(fed)})), fed)
}

// scripted measures k6 with a client in JavaScript.
func scripted(t testing.TB, push *pushing, fed bool) use {
	t.Helper()
	p := arrival(t, "websocket.js", push.options("arrived", options{}), "PUSH_URL="+push.path(fed))
	p.pprof = "" // profiles are of our sides
	return push.observed(t, p, fed)
}

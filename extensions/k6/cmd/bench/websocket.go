package main

import (
	"encoding/binary"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/gorilla/websocket"

	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
)

// socketRate is what a handler in JavaScript keeps up with on one core, messages/s.
const socketRate = 10_000

// webSocket compares only the receiving, as subscriber does: both sides send the load, and what that costs is measured
// too and subtracted. The baseline is a script's client of k6, which calls run.arrived().
func webSocket(b *bench) []figure {
	side := func(by func(*pushing, bool) use) func() use {
		return func() use {
			push := b.startPushing()
			return by(push, true).without(by(push, false))
		}
	}
	all := b.alternate(subscriberRounds, "message", side(b.script), side(b.nativeSocket))
	f := all.costs(0.25, "k6/websockets", "websocket")
	f.note("CPU a message of k6 for receiving, at %d messages/s of %d B, without what it takes to send them; "+
		"both sides end in the same ledger", socketRate, messageBytes)
	return []figure{f}
}

// pushing is an ingest that pushes messages to the latest client of a WebSocket.
type pushing struct {
	*ingest
	url string
}

func (b *bench) startPushing() *pushing {
	l, in := b.listen(), b.startIngest(nil)
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

func (p *pushing) options(b *bench, source string, value options) options {
	return options{
		"profile": batches(b.runSeconds(), socketRate), "senders": 4, "canary": false, "greet": false,
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
func (b *bench) nativeSocket(push *pushing, fed bool) use {
	return b.pushed(push, fed, b.arrival(push.options(b, "websocket", options{"url": push.path(fed)}), true))
}

// script measures k6 with a client in JavaScript.
func (b *bench) script(push *pushing, fed bool) use {
	o := push.options(b, "arrived", options{})
	o["dir"] = must.Get(os.MkdirTemp(b.dir, "run-"))
	env := []string{"RUN=" + string(must.Get(json.Marshal(o))), "PUSH_URL=" + push.path(fed)}
	p := b.k6("websocket.js", env)
	p.report = filepath.Join(o["dir"].(string), "run.json")
	return b.pushed(push, fed, p)
}

func (b *bench) pushed(push *pushing, fed bool, p *process) use {
	u := b.observe(map[string]int{"k6": p.pid}, counting(&push.messages), p)
	if fed {
		b.finish(p)
	} else {
		p.kill()
	}
	return u
}

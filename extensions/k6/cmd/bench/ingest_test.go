package main

import (
	"bytes"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqttwire"
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
	t.Helper()
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
	p := mqttwire.Publish{
		Topic: append([]byte("messages/"), target...), Payload: payload,
		Properties: mqttwire.AppendUserProperty(nil, "hops", hops),
	}
	return p.Append(b, mqttwire.Version5)
}

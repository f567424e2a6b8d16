package main

import (
	"bytes"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqttwire"
)

// ingest is a cheap one: it answers 202, counts, and hands on what it was sent. It runs in the bench's own process, whose CPU
// is nobody's.
type ingest struct {
	url      string
	requests atomic.Int64
	messages atomic.Int64

	mu  sync.Mutex
	out net.Conn // PUBLISH packets are written there; nil: nowhere
	buf []byte
}

const token = "bench-token"

// startIngest listens on a free port until the row is over.
func (b *bench) startIngest(out net.Conn) *ingest {
	l := b.listen()
	in := &ingest{url: "http://" + l.Addr().String(), out: out}
	server := &fasthttp.Server{Handler: in.serve, NoDefaultServerHeader: true}
	go func() { _ = server.Serve(l) }()
	return in
}

func (in *ingest) serve(ctx *fasthttp.RequestCtx) {
	if in.hand(ctx.PostBody()) {
		ctx.SetStatusCode(fasthttp.StatusAccepted)
		ctx.SetContentType("application/json; charset=utf-8")
		ctx.SetBodyString(`{"accepted":1}`)
	} else {
		ctx.SetStatusCode(fasthttp.StatusServiceUnavailable)
	}
	in.requests.Add(1)
}

// deliver says where messages go from now on.
func (in *ingest) deliver(to net.Conn) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.out = to
}

// hand hands a body's messages on in one write: a subscriber that does not keep up holds the load back.
func (in *ingest) hand(body []byte) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.out == nil {
		in.messages.Add(int64(bytes.Count(body, between)) + 1)
		return true
	}
	n, at := int64(0), time.Now()
	in.buf = in.buf[:0]
	split(body, func(message []byte) {
		in.buf = appendPublish(in.buf, target(message), message, at)
		n++
	})
	if _, err := in.out.Write(in.buf); err != nil {
		return false
	}
	in.messages.Add(n)
	return true
}

// The bench's ingest hands on what k6 posts, and costs little: it knows the JSON that it is sent.

// between stands between two messages of a batch.
var between = []byte(`},{"id":"`)

// split calls each for every message of a body: of one, or of an array of them.
func split(body []byte, each func(message []byte)) {
	if len(body) < 2 || body[0] != '[' {
		each(body)
		return
	}
	body = body[1 : len(body)-1]
	for {
		i := bytes.Index(body, between)
		if i < 0 {
			each(body)
			return
		}
		each(body[:i+1])
		body = body[i+2:]
	}
}

var targetKey = []byte(`"target":"`)

// target is that of a message; nil without it.
func target(message []byte) []byte {
	_, rest, found := bytes.Cut(message, targetKey)
	if !found {
		return nil
	}
	value, _, found := bytes.Cut(rest, []byte{'"'})
	if !found {
		return nil
	}
	return value
}

// appendPublish adds a PUBLISH packet of QoS 0 with a user property hops, as the pipeline's relay makes it.
func appendPublish(b, target, payload []byte, at time.Time) []byte {
	hops := append(strconv.AppendInt(make([]byte, 0, 48), at.UnixMicro(), 10), ",35,112,40"...)
	p := mqttwire.Publish{
		Topic: append([]byte("messages/"), target...), Payload: payload,
		Properties: mqttwire.AppendUserProperty(nil, "hops", hops),
	}
	return p.Append(b, mqttwire.Version5)
}

// Package send sends the requests of a run: POSTs (Poster), or messages over thousands of MQTT connections
// (Publishers).
package send

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
)

// Poster posts to the ingest, one request at a time. It writes head and body at once and
// reads the answer with fasthttp's parser. It skips the layers of a general client, which took a third of its
// CPU.
type Poster struct {
	URLs   [2]string           // the URL for one message, and that for a batch
	Opened func(time.Duration) // gets the time to open each connection; may be nil
	// Leaves gets, once for each request, when it left (see Result), and when it had been written; zero: it was not, or
	// Result says it. nil: nobody asks.
	Leaves func(left, written time.Time)
	Fields []byte // further header fields of the next request, each with its line end
	Target []byte // the target of the next request's message; only where Targeted
	Idle   *Idle  // its connections between requests; other Posters of the ingest may have the same
	Stamps bool   // answers are arrivals: Result says when the kernel had each

	network   network.Network
	address   string
	secure    bool
	keepAlive bool
	discards  bool // the bodies of answers
	timeout   time.Duration
	heads     [2][]byte // request heads up to the value of Content-Length, or up to Target
	rest      []byte    // what the first head has behind Target; nil: its path has no Target

	link   *link // the connection of the request under way; nil: there is none
	reader *bufio.Reader
	answer *fasthttp.Response // the last answer; it has no body
	kept   []byte             // the beginning of the body
	header []byte             // the last answer's; empty: parse the next one
	closes bool               // the server closes the connection after the answer
	resent bool               // the request went out again over another connection
	cut    bool               // the answer came before the request had been written
	packet []byte
	kind   int       // the index of its URL
	left   time.Time // see Result; zero: not yet
	wrote  time.Time // when the last request had been written, without the time of connecting; zero: not known
}

// packetSmall is the longest request that is written before its answer is read. A new connection's socket takes so many
// bytes at once.
const packetSmall = 16 << 10

// NewPoster makes a Poster that connects when it posts. timeout covers a request from its start to its answer.
func NewPoster(o Ingest, n network.Network, timeout time.Duration) *Poster {
	p := &Poster{
		Idle: &Idle{}, network: n, keepAlive: o.KeepAlive, discards: o.DiscardBodies, timeout: timeout,
		answer: &fasthttp.Response{}, reader: bufio.NewReaderSize(nil, headerUsual),
	}
	for i, path := range []string{o.Path, o.BatchPath} {
		origin, target := o.target(path)
		p.URLs[i] = origin + target
		var u fasthttp.URI
		_ = u.Parse(nil, []byte(origin)) // checked with the options
		p.secure = string(u.Scheme()) == "https"
		p.address = fasthttp.AddMissingPort(string(u.Host()), p.secure)
		p.heads[i] = head(string(u.Host()), target, o)
	}
	if strings.Contains(o.Path, Target) {
		p.heads[0], p.rest, _ = bytes.Cut(p.heads[0], []byte(Target))
	}
	return p
}

// Targeted reports whether the path names the target of a message.
func (p *Poster) Targeted() bool { return p.rest != nil }

// bodyLength ends a head; the value follows.
var bodyLength = []byte("Content-Length: ")

// head renders what all requests to a URL have in common.
func head(host, target string, o Ingest) []byte {
	var h fasthttp.RequestHeader
	h.SetMethod(fasthttp.MethodPost)
	h.SetRequestURI(target)
	h.SetHost(host)
	h.SetUserAgent("k6 arrival")
	h.SetContentType("application/json")
	if o.Token != "" {
		h.Set(fasthttp.HeaderAuthorization, "Bearer "+o.Token)
	}
	for name, value := range o.Headers {
		h.Set(name, value)
	}
	if !o.KeepAlive {
		h.SetConnectionClose()
	}
	text := h.AppendBytes(nil)
	return append(bytes.TrimSuffix(text, []byte("\r\n")), bodyLength...)
}

// Kind is the index of the URL for this many messages.
func Kind(messages int) int { return min(messages-1, 1) }

// Post sends a body with this many messages and waits for the answer, which is valid until the next call. now
// is the current time.
func (p *Poster) Post(now time.Time, body []byte, messages int) Result {
	p.compose(body, messages)
	p.left, p.resent = time.Time{}, false
	err := p.exchange(now)
	p.leaves(now, time.Time{}) // there was no connection
	return p.conclude(err)
}

// leaves notes when the request left, if that was not noted before.
func (p *Poster) leaves(left, written time.Time) {
	if !p.left.IsZero() {
		return
	}
	p.left = left
	if p.Leaves != nil {
		p.Leaves(left, written)
	}
}

// compose writes a request to packet.
func (p *Poster) compose(body []byte, messages int) {
	p.kind = Kind(messages)
	p.packet = append(p.packet[:0], p.heads[p.kind]...)
	if p.kind == 0 && p.Targeted() {
		p.packet = append(append(p.packet, p.Target...), p.rest...)
	}
	p.packet = strconv.AppendInt(p.packet, int64(len(body)), 10)
	p.packet = append(append(p.packet, "\r\n"...), p.Fields...)
	p.packet = append(append(p.packet, "\r\n"...), body...)
}

// exchange sends packet and reads the answer. A server may close a kept connection while the request is on its way. If
// it can't have read any of it, the request goes out again, over another connection: it has not been sent twice.
func (p *Poster) exchange(now time.Time) error {
	for deadline := now.Add(p.timeout); ; now = time.Now() {
		p.link = p.Idle.take(now)
		kept := p.link != nil
		err := p.try(now, deadline)
		if err == nil || !kept || !p.link.unread(err) {
			return err
		}
		p.hangUp()
		p.resent = true
	}
}

// try sends packet over the connection, or a new one, and reads the answer.
func (p *Poster) try(now, deadline time.Time) error {
	p.wrote = time.Time{}
	connecting := time.Duration(0)
	if p.link == nil {
		began := time.Now()
		l, err := p.dial(deadline)
		if err != nil {
			return err
		}
		connecting = time.Since(began)
		if p.Opened != nil {
			p.Opened(connecting)
		}
		p.link = l
	}
	p.reader.Reset(incoming{p.link})
	p.link.expect(now, deadline)
	p.cut = false
	if len(p.packet) > packetSmall {
		p.leaves(time.Now().Add(-connecting), time.Time{}) // its writing may last, so it is not waited for
		return p.exchangeLarge(connecting)
	}
	if err := p.link.send(p.packet); err != nil {
		p.leaves(p.link.began.Add(-connecting), time.Time{})
		p.cut = p.read() == nil // TLS may write in several parts, so the answer may be there all the same
		if p.cut {
			return nil
		}
		return err
	}
	p.wrote = time.Now().Add(-connecting)
	p.leaves(p.link.began.Add(-connecting), p.wrote)
	// Lets ready goroutines run first: the answer may then be there without a wait.
	runtime.Gosched()
	return p.read()
}

// exchangeLarge reads the answer while it writes packet. A server may answer, and close the connection, before it has
// read the body (RFC 9112, 9.6): that is the answer then, whatever becomes of the rest. connecting is how long opening
// the connection took.
func (p *Poster) exchangeLarge(connecting time.Duration) error {
	l := p.link
	// Once for both: neither side finds an earlier deadline that it has to move.
	l.apply()
	var wrote time.Time // set before the result goes to written
	written := make(chan error, 1)
	go func() {
		err := l.send(p.packet)
		if err == nil {
			wrote = time.Now().Add(-connecting)
		}
		written <- err
	}()
	err := p.read()
	if err == nil {
		if p.answer.StatusCode() >= fasthttp.StatusMultipleChoices {
			_ = l.SetWriteDeadline(longAgo) // ends the writing of what nobody wants
		}
		p.cut = <-written != nil
		p.wrote = wrote
		l.applied = time.Time{} // the next request sets the deadlines anew
		return nil
	}
	select {
	case failed := <-written: // it names the cause, where the reader only finds the end
		p.wrote = wrote
		if failed != nil && errors.Is(err, io.EOF) {
			err = failed
		}
	default:
		refused := -1
		if errors.Is(err, io.EOF) && !l.reset.Load() {
			refused = l.refused()
		}
		_ = l.Close()
		<-written
		if refused >= l.wrote {
			l.wrote = 0
		}
	}
	return err
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// conclude turns the result of an exchange into a Result.
func (p *Poster) conclude(err error) Result {
	a := Result{Body: p.body, Err: err, Left: p.left, Written: p.wrote, Resent: p.resent}
	if err == nil {
		a.Status = p.answer.StatusCode()
		a.To = p.redirect()
	}
	if p.discards {
		a.Body = func() []byte { return nil }
	}
	a.Done = time.Now()
	if p.link != nil && p.link.stamped != nil {
		a.Came = p.link.stamped.Last()
	}
	switch {
	case p.link == nil:
	case err != nil || !p.reusable():
		p.hangUp()
	default:
		p.Idle.put(p.link, a.Done)
		p.link = nil
	}
	return a
}

// redirect returns where the answer redirects to; nil: nowhere.
func (p *Poster) redirect() *url.URL {
	location := p.answer.Header.Peek(fasthttp.HeaderLocation)
	if !fasthttp.StatusCodeIsRedirect(p.answer.StatusCode()) || len(location) == 0 {
		return nil
	}
	posted, err := url.Parse(p.URLs[p.kind])
	if err != nil {
		return nil // its bytes are no URL for everybody
	}
	to, err := posted.Parse(string(location))
	if err != nil {
		return nil
	}
	return to
}

// Header is a field of the last answer's header; empty: not present.
func (p *Poster) Header(name string) string { return string(p.answer.Header.Peek(name)) }

// reusable reports whether another request may follow on the connection. Extra bytes would be taken for the
// next answer.
func (p *Poster) reusable() bool {
	return p.keepAlive && !p.closes && !p.cut && p.reader.Buffered() == 0 &&
		p.answer.StatusCode() != fasthttp.StatusSwitchingProtocols
}

func (p *Poster) hangUp() {
	p.link.hangUp()
	p.link = nil
}

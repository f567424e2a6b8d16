// Package send sends the requests of a run: POSTs (Poster), or messages over thousands of MQTT connections
// (Publishers).
package send

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/net/http/httpguts"

	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
)

// Ingest are the settings of the ingest; index.d.ts documents them.
type Ingest struct {
	URL       string            `json:"url"`
	Token     string            `json:"token"` // Bearer; empty: none
	Path      string            `json:"path"`  // of a request with one message
	BatchPath string            `json:"batchPath"`
	Headers   map[string]string `json:"headers"`
	KeepAlive bool              `json:"keepAlive"`
	Retries   int               `json:"retries"` // of a request that was not accepted
}

// Poster posts to the ingest over one connection, one request at a time. It writes head and body at once and
// reads the answer with fasthttp's parser. It skips the layers of a general client, which took a third of its
// CPU.
type Poster struct {
	URLs   [2]string           // for one message, for a batch
	Opened func(time.Duration) // gets the time to open each connection; may be nil
	Fields []byte              // more header fields of the next request, each with its line end

	network   network.Network
	address   string
	secure    bool
	keepAlive bool
	timeout   time.Duration
	heads     [2][]byte // request heads up to the value of Content-Length

	link   *link // nil: none
	reader *bufio.Reader
	answer *fasthttp.Response
	header []byte // of the answer; empty: parse the next one
	closes bool   // the server closes the connection after the answer
	packet []byte
	used   time.Time // the end of the last request
}

const (
	// idleUnchecked is how long a connection may be idle before the Poster checks whether the server has closed
	// it. A request written to a closed connection is lost, and its outcome is unknown.
	idleUnchecked = 100 * time.Millisecond
	// idleMost is how long an idle connection is kept: less than servers keep it (Node 5 s, Fastify 72 s).
	idleMost = 4 * time.Second
	// headerMost is the size of an answer's header, in bytes.
	headerMost = 8 << 10
	// bodyMost is the limit of its body. An ingest answers in a few words.
	bodyMost = 16 << 20
	// interimMost is how many interim answers (RFC 9110, 15.2) may come before the final one.
	interimMost = 16
)

// NewPoster makes a Poster that connects when it posts. timeout covers a request from its start to its answer.
func NewPoster(o Ingest, n network.Network, timeout time.Duration) *Poster {
	base := strings.TrimSuffix(o.URL, "/")
	p := &Poster{
		network: n, keepAlive: o.KeepAlive, timeout: timeout, answer: &fasthttp.Response{},
		reader: bufio.NewReaderSize(nil, headerMost),
		URLs:   [2]string{base + o.Path, base + o.BatchPath},
	}
	for i, url := range p.URLs {
		var u fasthttp.URI
		_ = u.Parse(nil, []byte(url)) // checked with the options
		p.secure = string(u.Scheme()) == "https"
		p.address = fasthttp.AddMissingPort(string(u.Host()), p.secure)
		p.heads[i] = head(&u, o)
	}
	return p
}

// bodyLength ends a head; the value follows.
var bodyLength = []byte("Content-Length: ")

// head renders what all requests to a URL have in common.
func head(u *fasthttp.URI, o Ingest) []byte {
	var h fasthttp.RequestHeader
	h.SetMethod(fasthttp.MethodPost)
	h.SetRequestURIBytes(u.RequestURI())
	h.SetHostBytes(u.Host())
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
	h.Del(fasthttp.HeaderContentLength)
	text := h.AppendBytes(nil)
	return append(bytes.TrimSuffix(text, []byte("\r\n")), bodyLength...)
}

// Kind is the index of the URL for this many messages.
func Kind(messages int) int { return min(messages-1, 1) }

// Post sends a body with this many messages and waits for the answer, which is valid until the next call. now
// is the current time.
func (p *Poster) Post(now time.Time, body []byte, messages int) Answer {
	p.compose(body, messages)
	return p.conclude(p.exchange(now))
}

// compose writes a request to packet.
func (p *Poster) compose(body []byte, messages int) {
	p.packet = append(p.packet[:0], p.heads[Kind(messages)]...)
	p.packet = strconv.AppendInt(p.packet, int64(len(body)), 10)
	p.packet = append(append(p.packet, "\r\n"...), p.Fields...)
	p.packet = append(append(p.packet, "\r\n"...), body...)
}

// exchange sends packet and reads the answer.
func (p *Poster) exchange(now time.Time) error {
	if p.link != nil && p.stale(now) {
		p.hangUp()
	}
	deadline := now.Add(p.timeout)
	if p.link == nil {
		began := time.Now()
		l, err := p.dial(deadline)
		if err != nil {
			return err
		}
		if p.Opened != nil {
			p.Opened(time.Since(began))
		}
		p.link = l
		p.reader.Reset(incoming{l})
	}
	p.link.expect(now, deadline)
	if err := p.link.send(p.packet); err != nil {
		return err
	}
	// Lets ready goroutines run first: the answer may then be there without a wait.
	runtime.Gosched()
	return p.read()
}

// conclude turns the result of an exchange into an Answer.
func (p *Poster) conclude(err error) Answer {
	a := Answer{Body: p.answer.Body, Err: err}
	if err == nil {
		a.Status = p.answer.StatusCode()
	}
	if p.link != nil && (err != nil || !p.reusable()) {
		p.hangUp()
	}
	a.Done = time.Now()
	p.used = a.Done
	return a
}

// Header is a field of the last answer's header; empty: not present.
func (p *Poster) Header(name string) string { return string(p.answer.Header.Peek(name)) }

// read reads the answer.
func (p *Poster) read() error {
	err := p.readAnswer()
	if err == nil {
		return nil
	}
	if p.link.lost != nil {
		return p.link.lost
	}
	return fmt.Errorf("the answer is not HTTP: %w", err)
}

func (p *Poster) readAnswer() error {
	a := p.answer
	for n := 0; ; n++ {
		if err := p.readHeader(); err != nil {
			return err
		}
		if status := a.StatusCode(); status >= fasthttp.StatusOK || status == fasthttp.StatusSwitchingProtocols {
			break
		}
		if n == interimMost {
			return errors.New("interim answers without an end")
		}
	}
	switch a.StatusCode() {
	case fasthttp.StatusSwitchingProtocols, fasthttp.StatusNoContent, fasthttp.StatusNotModified:
		a.ResetBody() // these have no body (RFC 9112, 6.3)
		return nil
	}
	chunked := a.Header.ContentLength() == -1
	if err := a.ReadBody(p.reader, bodyMost); err != nil || !chunked {
		return err
	}
	return a.Header.ReadTrailer(p.reader)
}

// endOfHeader is an empty line after another (RFC 9112, 2.1).
var endOfHeader = []byte("\r\n\r\n")

// readHeader reads the next header, and parses it if it differs from the last one. A server's answers differ
// only in their Date, once a second: parsing all took a tenth of the CPU.
func (p *Poster) readHeader() error {
	if _, err := p.reader.Peek(1); err != nil {
		return err
	}
	buffered := p.reader.Buffered()
	b, _ := p.reader.Peek(buffered)
	if n := len(p.header); n > 0 && bytes.HasPrefix(b, p.header) {
		_, err := p.reader.Discard(n)
		return err
	}
	p.header = p.header[:0]
	end := bytes.Index(b, endOfHeader)
	if end < 0 {
		return p.parseHeader() // the header is incomplete
	}
	whole := end + len(endOfHeader)
	p.header = append(p.header, b[:whole]...)
	err := p.parseHeader()
	// Headers that a body or trailer may change, or that ended unusually, are parsed each time.
	if err != nil || p.answer.Header.ContentLength() < 0 || buffered-p.reader.Buffered() != whole {
		p.header = p.header[:0]
	}
	return err
}

func (p *Poster) parseHeader() error {
	h := &p.answer.Header
	err := h.Read(p.reader)
	p.closes = h.ConnectionClose() // fasthttp recognizes it only in lower case and alone
	for _, tokens := range h.PeekAll(fasthttp.HeaderConnection) {
		// A list of tokens in any case (RFC 9110, 7.6.1).
		p.closes = p.closes || httpguts.HeaderValuesContainsToken([]string{string(tokens)}, "close")
	}
	return err
}

// reusable reports whether another request may follow on the connection. Extra bytes would be taken for the
// next answer.
func (p *Poster) reusable() bool {
	return p.keepAlive && !p.closes && p.reader.Buffered() == 0 &&
		p.answer.StatusCode() != fasthttp.StatusSwitchingProtocols
}

// stale reports whether a connection has been idle for too long or was closed.
func (p *Poster) stale(now time.Time) bool {
	idle := now.Sub(p.used)
	return idle > idleMost || idle > idleUnchecked && p.link.closed()
}

func (p *Poster) hangUp() {
	if p.link.secure != nil {
		_ = p.link.secure.Close()
	}
	_ = p.link.Close()
	p.link = nil
}

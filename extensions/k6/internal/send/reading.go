package send

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/valyala/fasthttp"
	"golang.org/x/net/http/httpguts"
)

const (
	// headerUsual is the size of the buffer for an answer's header, in bytes. It grows up to headerMost, which is
	// what Go's own client reads (k6/http); curl takes 300 KB, Node 16 KB.
	headerUsual = 8 << 10
	headerMost  = 1 << 20
	// bodyMost is the limit of its body. An ingest answers in a few words.
	bodyMost = 16 << 20
	// interimMost is how many interim answers (RFC 9110, 15.2) may come before the final one.
	interimMost = 16
)

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
	err := a.ReadBody(p.reader, bodyMost)
	if errors.Is(err, fasthttp.ErrBodyTooLarge) {
		return fmt.Errorf("its body is longer than %d bytes", bodyMost)
	}
	if err != nil || !chunked {
		return err
	}
	return p.growing(a.Header.ReadTrailer)
}

// growing parses fields, with a larger buffer as long as they do not fit: fasthttp takes nothing from the buffer
// before it has them all.
func (p *Poster) growing(parse func(*bufio.Reader) error) error {
	for {
		err := parse(p.reader)
		var small *fasthttp.ErrSmallBuffer
		if !errors.As(err, &small) {
			return err
		}
		size := p.reader.Size()
		if size >= headerMost {
			return fmt.Errorf("its header is longer than %d bytes", headerMost)
		}
		b, _ := p.reader.Peek(p.reader.Buffered())
		rest := io.MultiReader(bytes.NewReader(bytes.Clone(b)), incoming{p.link})
		p.reader = bufio.NewReaderSize(rest, 2*size)
	}
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
	if end < 0 { // the header is incomplete
		p.awaitEnd()
		return p.parseHeader()
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

// bareEnd is an empty line after one that ends without CR.
var bareEnd = regexp.MustCompile("\n\r?\n")

// awaitEnd waits for the end of a header. Where its lines end without CR (RFC 9112, 2.2), they get theirs: fasthttp
// would wait for them.
func (p *Poster) awaitEnd() {
	for {
		b, _ := p.reader.Peek(p.reader.Buffered())
		if bytes.Contains(b, endOfHeader) || len(b) == p.reader.Size() {
			return
		}
		if at := bareEnd.FindIndex(b); at != nil {
			head := bytes.ReplaceAll(b[:at[1]], []byte("\r\n"), []byte("\n"))
			head = bytes.ReplaceAll(head, []byte("\n"), []byte("\r\n"))
			rest := io.MultiReader(bytes.NewReader(append(head, b[at[1]:]...)), incoming{p.link})
			p.reader = bufio.NewReaderSize(rest, p.reader.Size())
			_, _ = p.reader.Peek(1)
			return
		}
		if _, err := p.reader.Peek(len(b) + 1); err != nil {
			return // the parser meets it too
		}
	}
}

// mergeLengths leaves one value of Content-Length in the buffered header, where it is there several times (RFC 9110,
// 8.6). fasthttp has not taken the header from the buffer, and it is there to its end.
func (p *Poster) mergeLengths() error {
	b, _ := p.reader.Peek(p.reader.Buffered())
	b = bytes.TrimLeft(b, "\r\n") // of an earlier answer
	end := bytes.Index(b, endOfHeader) + len("\r\n")
	var merged []byte
	var length []byte // nil: not seen yet
	for line := range bytes.Lines(b[:end]) {
		name, values, _ := bytes.Cut(line, []byte(":"))
		if !strings.EqualFold(string(bytes.TrimSpace(name)), fasthttp.HeaderContentLength) {
			merged = append(merged, line...)
			continue
		}
		for value := range bytes.SplitSeq(values, []byte(",")) {
			value = bytes.TrimSpace(value)
			if length != nil && !bytes.Equal(value, length) {
				return fmt.Errorf("its Content-Length is %q and %q, and has to be one (RFC 9110, 8.6)", length, value)
			}
			length = value
		}
	}
	merged = fmt.Appendf(merged, "%s: %s\r\n", fasthttp.HeaderContentLength, length)
	rest := io.MultiReader(bytes.NewReader(append(merged, b[end:]...)), incoming{p.link})
	p.reader = bufio.NewReaderSize(rest, p.reader.Size())
	return nil
}

func (p *Poster) parseHeader() error {
	h := &p.answer.Header
	b, _ := p.reader.Peek(p.reader.Buffered())
	_, status, _ := bytes.Cut(b, []byte(" "))
	none := bytes.HasPrefix(status, []byte("000"))
	err := p.growing(h.Read)
	if errors.Is(err, fasthttp.ErrDuplicateContentLength) || errors.Is(err, fasthttp.ErrNonNumericChars) {
		if err = p.mergeLengths(); err == nil {
			err = p.growing(h.Read)
		}
	}
	if err == nil && none { // fasthttp takes it for 200
		err = errors.New("its status is 000")
	}
	p.closes = h.ConnectionClose() // fasthttp recognizes it only in lower case and alone
	for _, tokens := range h.PeekAll(fasthttp.HeaderConnection) {
		// A list of tokens in any case (RFC 9110, 7.6.1).
		p.closes = p.closes || httpguts.HeaderValuesContainsToken([]string{string(tokens)}, "close")
	}
	return err
}

package send

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http/httputil"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
	"golang.org/x/net/http/httpguts"

	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

const (
	// headerUsual is the size of the buffer for an answer's header, in bytes. It grows up to headerMost, which is
	// what Go's own client reads (k6/http); curl takes 300 KB, Node 16 KB.
	headerUsual = 8 << 10
	headerMost  = 1 << 20
	// bodyKept is how many bytes of its body are kept. The rest is read, and nobody looks at it.
	bodyKept = 32 << 10
	// interimMost is how many interim answers (RFC 9110, 15.2) may come before the final one.
	interimMost = 16
)

// read reads the answer.
func (p *Poster) read() error {
	err := p.readAnswer()
	var known *answerError
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case p.link.lost == nil:
		return fmt.Errorf("the answer is not HTTP: %w", err)
	case isCut(p.link.lost):
		if b, _ := p.reader.Peek(p.reader.Buffered()); bytes.HasPrefix(b, []byte("HTTP/1.")) {
			return &answerError{classCut, "the answer ended in its header", p.link.lost}
		}
	}
	return p.link.lost
}

// isCut reports whether the other side ended the connection, instead of a time-out.
func isCut(lost error) bool { return lost != nil && !errors.Is(lost, os.ErrDeadlineExceeded) }

func (p *Poster) readAnswer() error {
	a := p.answer
	p.kept = p.kept[:0]
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
		return nil // these have no body (RFC 9112, 6.3)
	}
	length := a.Header.ContentLength()
	read, err := p.readBody(length)
	if err == nil && length == chunked {
		err = p.growing(a.Header.ReadTrailer)
	}
	if err == nil || !isCut(p.link.lost) {
		return err
	}
	of := ""
	if length >= 0 {
		of = fmt.Sprintf(" of %d", length)
	}
	return &answerError{classCut, fmt.Sprintf("the answer (HTTP %d) ended after %d%s bytes of its body", a.StatusCode(),
		read, of), p.link.lost}
}

// Lengths of a body that are not known beforehand, as fasthttp has them.
const (
	chunked  = -1
	untilEnd = -2
)

// readBody reads a body to its end, and keeps its beginning.
func (p *Poster) readBody(length int) (read int, err error) {
	if 0 <= length && length <= bodyKept {
		p.kept = slices.Grow(p.kept, length)[:length]
		return io.ReadFull(p.reader, p.kept)
	}
	var from io.Reader = p.reader
	switch length {
	case chunked:
		from = httputil.NewChunkedReader(p.reader)
	case untilEnd:
	default:
		from = io.LimitReader(p.reader, int64(length))
	}
	for err == nil && len(p.kept) < bodyKept {
		n := 0
		p.kept = slices.Grow(p.kept, 1)
		n, err = from.Read(p.kept[len(p.kept):min(cap(p.kept), bodyKept)])
		p.kept = p.kept[:len(p.kept)+n]
	}
	read = len(p.kept)
	if err == nil {
		rest := int64(0)
		rest, err = io.Copy(io.Discard, from)
		read += int(rest)
	}
	if errors.Is(err, io.EOF) { // the body's end; a connection that ends within it is ErrUnexpectedEOF
		err = nil
	}
	if err == nil && length > read {
		err = io.ErrUnexpectedEOF
	}
	return read, err
}

// body is the beginning of the last answer's body, decoded.
func (p *Poster) body() []byte {
	b, encoding := p.kept, strings.ToLower(p.Header(fasthttp.HeaderContentEncoding))
	decode := map[string]func(io.Writer, []byte) (int, error){
		"gzip": fasthttp.WriteGunzip, "x-gzip": fasthttp.WriteGunzip, "deflate": fasthttp.WriteInflate,
		"br": fasthttp.WriteUnbrotli, "zstd": fasthttp.WriteUnzstd,
	}[encoding]
	if encoding == "" || encoding == "identity" || len(b) == 0 {
		return b
	}
	var text beginning
	if decode != nil {
		_, _ = decode(&text, b) // ends with an error where only the beginning is there, or wanted
	}
	if len(text) == 0 {
		return fmt.Appendf(nil, "(%d bytes in %s that can't be read)", len(b), words.Printable(encoding))
	}
	return text
}

// beginning takes the first bodyKept bytes that are written to it.
type beginning []byte

func (b *beginning) Write(p []byte) (int, error) {
	n := min(len(p), bodyKept-len(*b))
	*b = append(*b, p[:n]...)
	if n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
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
		if b, _ := p.reader.Peek(p.reader.Buffered()); isHTTP2(b) {
			return errVersion
		}
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

// isHTTP2 reports whether bytes begin with a frame of HTTP/2: the SETTINGS or GOAWAY of a server (RFC 9113, 4.1).
func isHTTP2(b []byte) bool {
	const settings, goAway, head = 4, 7, 9
	return len(b) >= head && b[0] == 0 && (b[3] == settings || b[3] == goAway) && bytes.Equal(b[5:head], make([]byte, 4))
}

// bareEnd is an empty line after one that ends without CR.
var bareEnd = regexp.MustCompile("\n\r?\n")

// awaitEnd waits for the end of a header. Where its lines end without CR (RFC 9112, 2.2), they get theirs: fasthttp
// would wait for them.
func (p *Poster) awaitEnd() {
	for {
		b, _ := p.reader.Peek(p.reader.Buffered())
		if bytes.Contains(b, endOfHeader) || len(b) == p.reader.Size() || isHTTP2(b) {
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
	b = bytes.TrimLeft(b, "\r\n") // an earlier answer may leave them
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

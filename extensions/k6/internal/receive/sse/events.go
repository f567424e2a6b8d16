package sse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// errTooLong ends a stream with an event that never ends.
var errTooLong = errors.New("an event is too long")

// events reads the events of a stream (HTML, 9.2.6). The parser is our own: that of go-sse (0.12) looks at the
// beginning of an unfinished event again with each read, so that a long one takes the square of its length, and does
// not hand on retry.
type events struct {
	from  *bufio.Reader
	most  int // bytes of an event
	begun bool

	id    string        // the last event's, which a reconnection sends
	retry time.Duration // that the server wants; 0: it has not said
	data  bytes.Buffer
	line  []byte
	after bool // a CR ended the last line: an LF that follows is part of its end
	size  int  // bytes of the event so far
}

func newEvents(from io.Reader, most int) *events {
	return &events{from: bufio.NewReaderSize(from, 4<<10), most: most}
}

// next returns the data of the next event that has some, until the next call. It drops an event whose end does not
// come.
func (e *events) next() ([]byte, error) {
	e.data.Reset()
	e.size = 0
	id := e.id
	for has := false; ; {
		line, err := e.readLine()
		if err != nil {
			return nil, err
		}
		if !e.begun {
			e.begun = true
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if len(line) == 0 {
			e.id = id
			if has {
				return bytes.TrimSuffix(e.data.Bytes(), []byte("\n")), nil
			}
			e.size = 0
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			has = true
			e.data.Write(value)
			e.data.WriteByte('\n')
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				id = string(value)
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				e.retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
}

// readLine reads a line, which ends with CR, LF or both.
func (e *events) readLine() ([]byte, error) {
	e.line = e.line[:0]
	for {
		if _, err := e.from.Peek(1); err != nil { // waits for bytes
			return nil, err
		}
		some, _ := e.from.Peek(e.from.Buffered())
		if e.after && some[0] == '\n' {
			e.skip(1)
			e.after = false
			continue
		}
		e.after = false
		end := bytes.IndexAny(some, "\r\n")
		if end < 0 {
			if e.size += len(some); e.size > e.most {
				return nil, fmt.Errorf("%w: more than %d bytes", errTooLong, e.most)
			}
			e.line = append(e.line, some...)
			e.skip(len(some))
			continue
		}
		if e.size += end + 1; e.size > e.most {
			return nil, fmt.Errorf("%w: more than %d bytes", errTooLong, e.most)
		}
		e.line = append(e.line, some[:end]...)
		e.after = some[end] == '\r'
		e.skip(end + 1)
		return e.line, nil
	}
}

func (e *events) skip(n int) { _, _ = e.from.Discard(n) } // they are buffered

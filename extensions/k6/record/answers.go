package record

import (
	"bytes"
	"encoding/json"
	"io"
	"sync/atomic"
	"time"
)

// answers writes lines to the caller of a recorder. It stops after an error, and after the caller has not read
// for a while.
type answers struct {
	queue   chan []byte
	written chan struct{} // closed when the queue is closed and empty
	silent  atomic.Bool
}

const (
	answersQueue    = 256
	answersPatience = 10 * time.Second
)

func newAnswers(to io.Writer) *answers {
	s := &answers{queue: make(chan []byte, answersQueue), written: make(chan struct{})}
	go func() {
		defer close(s.written)
		for text := range s.queue {
			if _, err := to.Write(text); err != nil {
				s.silent.Store(true)
			}
		}
	}()
	return s
}

// write writes an object with one key.
func (s *answers) write(what string, v any) { s.writeLine(map[string]any{what: v}) }

// writeLine writes an object.
func (s *answers) writeLine(v any) {
	text := encode(v)
	if s.silent.Load() || s.offer(text) {
		return
	}
	select {
	case s.queue <- text:
	case <-time.After(answersPatience):
		s.silent.Store(true)
	}
}

// tryWrite is write for lines that may be dropped if the caller reads slowly.
func (s *answers) tryWrite(what string, v any) { s.offer(encode(map[string]any{what: v})) }

func (s *answers) offer(text []byte) bool {
	select {
	case s.queue <- text:
		return true
	default:
		return false
	}
}

func encode(v any) []byte {
	var text bytes.Buffer
	e := json.NewEncoder(&text) // which ends the line
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // of types that can be encoded
	return text.Bytes()
}

// close waits until all lines are written, up to a limit. Later lines are discarded.
func (s *answers) close() {
	close(s.queue)
	select {
	case <-s.written:
	case <-time.After(answersPatience):
	}
}

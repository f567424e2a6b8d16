package sse

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// all returns the events of a stream, and the error that ended it.
func all(e *events) (found []string, err error) {
	for {
		data, err := e.next()
		if err != nil {
			return found, err
		}
		found = append(found, string(data))
	}
}

func TestEventsOfAStream(t *testing.T) {
	t.Parallel()
	for stream, want := range map[string][]string{
		"data: a\n\ndata: b\n\n":                            {"a", "b"},
		"data: a\r\n\r\ndata: b\r\rdata:c\n\r\ndata: d\n\n": {"a", "b", "c", "d"},
		"\ufeffdata: a\n\n":                                 {"a"},
		"\ufeffdata: a\n\n\ufeffdata: b\n\n":                {"a"}, // the second mark is part of a name
		"data: one\ndata: two\ndata\ndata:  four\n\n":       {"one\ntwo\n\n four"},
		": comment\n\n:\n\ndata: a\n: within\n\n":           {"a"},
		"event: x\n\nid: 5\n\nretry: 3\n\n":                 nil, // no data, no event
		"data\n\n":                                          {""},
		"data:\n\n":                                         {""},
		"datas: a\nDATA: b\n data: c\ndata: d\n\n":          {"d"},
		"data: unfinished":                                  nil,
		"data: unfinished\n":                                nil,
		"\n\n\r\r\n\n":                                      nil,
		"data: a\x00b\n\n":                                  {"a\x00b"},
	} {
		found, err := all(newEvents(strings.NewReader(stream), 1000))
		assert.Equal(t, want, found, "%q", stream)
		assert.ErrorIs(t, err, io.EOF)
		found, _ = all(newEvents(iotest.OneByteReader(strings.NewReader(stream)), 1000))
		assert.Equal(t, want, found, "%q, byte by byte", stream)
	}
}

func TestTheLastIDIsThatOfACompleteEvent(t *testing.T) {
	t.Parallel()
	for stream, want := range map[string]string{
		"id: 1\ndata: a\n\n":                       "1",
		"id: 1\ndata: a\n\nid: 2\ndata: b\n":       "1",
		"id: 1\n\ndata: b\n\n":                     "1",
		"id: 1\ndata: a\n\nid\ndata: b\n\n":        "",
		"id: 1\ndata: a\n\nid: 2\x00\ndata: b\n\n": "1",
	} {
		e := newEvents(strings.NewReader(stream), 1000)
		_, err := all(e)
		require.ErrorIs(t, err, io.EOF)
		assert.Equal(t, want, e.id, "%q", stream)
	}
}

func TestTheServerSaysWhenToConnectAgain(t *testing.T) {
	t.Parallel()
	for stream, want := range map[string]time.Duration{
		"retry: 1500\n\n": 1500 * time.Millisecond, "retry: x\n\n": 0, "retry: -5\n\n": 0, "retry: 1.5\n\n": 0,
		"retry: 99999999999999999999\n\n": 0, "retry: 20\nretry: 30\n\n": 30 * time.Millisecond,
	} {
		e := newEvents(strings.NewReader(stream), 1000)
		_, _ = all(e)
		assert.Equal(t, want, e.retry, "%q", stream)
	}
}

// endless is a stream that repeats a text.
type endless string

func (e endless) Read(p []byte) (int, error) { return copy(p, e), nil }

// An event that never ends is given up at the limit, and so are a line and a comment.
func TestAnEventWithoutEndIsGivenUp(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"data: x\n", "x", ": comment\n", "data", "id: 1\n"} {
		_, err := all(newEvents(endless(text), 1<<20))
		assert.ErrorIs(t, err, errTooLong, text)
	}
}

// An event of 16 MB takes linear time, in whatever pieces it comes.
func TestALongEventInPieces(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 15<<20)
	data, err := newEvents(iotest.HalfReader(strings.NewReader("data: "+long+"\n\n")), 16<<20).next()
	require.NoError(t, err)
	assert.Len(t, data, len(long))
}

func TestAReadErrorIsHandedOn(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	found, err := all(newEvents(io.MultiReader(strings.NewReader("data: a\n\ndata"), iotest.ErrReader(broken)), 1000))
	assert.Equal(t, []string{"a"}, found)
	assert.ErrorIs(t, err, broken)
}

// A stream comes from anybody: whatever its bytes are, it ends with an error. Its events are the same in pieces.
func FuzzEvents(f *testing.F) {
	for _, stream := range []string{
		"data: a\n\n", "\ufeffdata: a\r\rretry: 99999999999999999999\n\nid: 1\x00\ndata\n\n", "retry: -1\n\n", ":\r\n\r",
	} {
		f.Add([]byte(stream))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		whole, _ := all(newEvents(strings.NewReader(string(stream)), 1000))
		pieces, _ := all(newEvents(iotest.OneByteReader(strings.NewReader(string(stream))), 1000))
		assert.Equal(t, whole, pieces)
	})
}

package spans

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// Limits of an exported file, besides those of runfile.OpenStream.
const (
	pieceMost        = 64 << 20 // bytes of a resource or a trace
	pieceObjectsMost = 1_000_000
	nestedMost       = 4
)

// Exported are spans as OTLP has them.
type Exported = []*tracepb.ResourceSpans

// ErrCut is the error of a file that ends within an object, as a killed collector leaves it. All before it is taken.
var ErrCut = errors.New("ends in the middle of an object; what is before it is used")

// ReadExported hands the spans of a file to take. It reads JSON, also with gzip or zstd: OTLP, in as many objects as
// there are (the collector's file exporter), Tempo's form of it, and Jaeger's.
func ReadExported(path string, take func(Exported)) error {
	f, err := runfile.OpenStream(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	text := bufio.NewReader(f)
	if err := recognize(text); err != nil {
		return fmt.Errorf("%s %w", path, err)
	}
	limited := &limited{from: text}
	e := &exported{limited, json.NewDecoder(limited), take}
	for limited.left = pieceMost; ; limited.left = pieceMost {
		err := e.object(0)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return fmt.Errorf("%s %w", path, ErrCut)
		case err != nil:
			return fmt.Errorf("%s, byte %d: %w", path, e.json.InputOffset(), err)
		}
	}
}

// recognize skips a byte order mark, and refuses by name what is no JSON object.
func recognize(text *bufio.Reader) error {
	head, _ := text.Peek(64) // an error comes again when it is read
	if mark := []byte("\xEF\xBB\xBF"); bytes.HasPrefix(head, mark) {
		_, _ = text.Discard(len(mark))
		head = head[len(mark):]
	}
	const allowed = "; allowed: JSON of OTLP, Tempo or Jaeger, also with gzip or zstd"
	head = bytes.TrimLeft(head, " \t\r\n")
	switch {
	case len(head) == 0 || head[0] == '{' || bytes.HasPrefix(head, []byte("null")):
		return nil
	case head[0] == '[':
		return errors.New("is a JSON list, like Zipkin's, not an object" + allowed)
	case head[0] < ' ' || head[0] >= 0x80:
		return errors.New("must be text: set format: json, not proto, in the collector's file exporter" + allowed)
	}
	return nil
}

// exported reads a file piece by piece: all of it may not fit into memory.
type exported struct {
	limited *limited
	json    *json.Decoder
	take    func(Exported)
}

// object reads one object. Its members may be inside another one: Tempo's `trace`, `result` of Jaeger's newer
// interface.
func (e *exported) object(depth int) error {
	if depth > nestedMost {
		return fmt.Errorf("an object is more than %d deep in others", nestedMost)
	}
	begin, err := e.json.Token()
	if err != nil || begin == nil {
		return err
	}
	if begin != json.Delim('{') {
		return fmt.Errorf("%v is not the begin of an object", begin)
	}
	for e.json.More() {
		name, err := e.json.Token()
		if err != nil {
			return within(err)
		}
		switch name {
		case "resourceSpans", "batches":
			err = e.each(fromOTLP)
		case "data":
			err = e.each(fromJaeger)
		case "trace", "result":
			err = e.object(depth + 1)
		default:
			_, err = e.piece()
		}
		if err != nil {
			return within(err)
		}
	}
	_, err = e.json.Token()
	return within(err)
}

// each reads a list, and takes the spans of its pieces.
func (e *exported) each(read func(piece []byte) (Exported, error)) error {
	begin, err := e.json.Token()
	if err != nil || begin == nil {
		return err
	}
	if begin != json.Delim('[') {
		return fmt.Errorf("%v is not the begin of a list of spans", begin)
	}
	for e.json.More() {
		piece, err := e.piece()
		if err != nil {
			return err
		}
		if bytes.Count(piece, []byte("{")) > pieceObjectsMost {
			return fmt.Errorf("a resource or trace has more than %d objects", pieceObjectsMost)
		}
		all, err := read(piece)
		if err != nil {
			return err
		}
		e.take(all)
	}
	_, err = e.json.Token()
	return err
}

func (e *exported) piece() (piece json.RawMessage, err error) {
	e.limited.left = pieceMost
	err = e.json.Decode(&piece)
	return piece, err
}

// within is the error of a file that ends where it must not.
func within(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// limited fails once it has read more than left.
type limited struct {
	from io.Reader
	left int
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("a resource or trace has more than %d bytes", pieceMost)
	}
	n, err := l.from.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}

// fromOTLP reads the spans of a resource. Ids are hexadecimal digits; Tempo's are base64.
func fromOTLP(piece []byte) (Exported, error) {
	of := &tracepb.ResourceSpans{}
	if err := loose.Unmarshal(piece, of); err != nil {
		return nil, err
	}
	all := Exported{of}
	return all, eachID(all, func(id *[]byte, bytes int) error {
		if len(*id) == bytes {
			return nil
		}
		return fromHex(id)
	})
}

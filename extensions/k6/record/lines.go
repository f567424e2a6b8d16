package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/engine"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
)

// line is a line from the caller of a recorder. help.txt documents the lines; each has one of the pointers and
// its fields.
type line struct {
	Options json.RawMessage `json:"options"`
	Now     *bool           `json:"now"`
	Start   json.RawMessage `json:"start"`
	Next    *int            `json:"next"`
	Due     *int            `json:"due"`
	Sent    *int            `json:"sent"`
	Unsent  *int            `json:"unsent"`
	Settled *int            `json:"settled"`
	Arrived json.RawMessage `json:"arrived"`
	Figure  *figureLine     `json:"figure"`
	End     *bool           `json:"end"`

	Flow string          `json:"flow"` // with next and due
	ID   json.RawMessage `json:"id"`

	AtUS *int64 `json:"at_us"` // with due, sent, settled and arrived

	Subscriber *int   `json:"subscriber"` // with arrived
	Target     string `json:"target"`     // with arrived
	Hops       string `json:"hops"`
	Encoding   string `json:"encoding"`

	Status    int    `json:"status"` // with settled
	Body      string `json:"body"`   // with sent, too
	Error     string `json:"error"`
	Connected *bool  `json:"connected"`
	Message   string `json:"message"` // with unsent, too
	Retries   int    `json:"retries"`
}

type figureLine struct {
	Name  string   `json:"name"`
	Value *float64 `json:"value"` // nil: not measured
	Unit  string   `json:"unit"`
}

const lineKinds = `"options", "now", "start", "next", "due", "sent", "unsent", "settled", "arrived", "figure" or "end"`

func readLine(text []byte) (l line, err error) {
	if err := engine.Decode(text, &l); err != nil {
		return l, fmt.Errorf("the line is not understood: %w; allowed: one JSON object with one of %s", err, lineKinds)
	}
	kinds := 0
	for _, there := range []bool{
		l.Options != nil, l.Now != nil, l.Start != nil, l.Next != nil, l.Due != nil, l.Sent != nil, l.Unsent != nil,
		l.Settled != nil, l.Arrived != nil,
		l.Figure != nil, l.End != nil,
	} {
		if there {
			kinds++
		}
	}
	if kinds != 1 {
		return l, fmt.Errorf("the line has %d of what it may say; allowed: one of %s", kinds, lineKinds)
	}
	return l, nil
}

// start is when the schedule begins: at a moment, or a while after the run is ready.
type start struct {
	at time.Time // zero: in
	in time.Duration
}

// epoch is the moment at which the schedule of a run begins that is ready now.
func (s start) epoch(now time.Time) time.Time {
	if s.at.IsZero() {
		return now.Add(s.in)
	}
	return s.at
}

// startOf reads a start line. Where requests are told it may name the moment, which has perhaps passed.
func (r *recording) startOf(line json.RawMessage) (s start, err error) {
	var in struct {
		US   int64  `json:"in_us"`
		AtUS *int64 `json:"at_us"`
	}
	if bytes.Equal(line, []byte("true")) {
		return start{in: engine.StartDelay}, nil
	}
	if err := engine.Decode(line, &in); err != nil || in.US < 0 || in.US > schedule.LateLimit.Microseconds() {
		return s, errors.New(`start is not understood; allowed: true, or {"in_us": 0 to 30000000}`)
	}
	if in.AtUS != nil && r.run.Told() {
		s.at, err = r.moment(in.AtUS)
		return s, err
	}
	return start{in: time.Duration(in.US) * time.Microsecond}, nil
}

// Lines of a recorder. Each is the value of one key.
type (
	readyLine struct {
		engine.Prepared
		NowUS int64 `json:"now_us"`
	}
	startedLine struct {
		EpochUS int64 `json:"epoch_us"`
	}
	slotsLine struct {
		Slots []slotLine      `json:"slots"`
		ID    json.RawMessage `json:"id,omitempty"`
	}
	slotLine struct {
		N        int    `json:"n"`
		DueUS    int64  `json:"due_us"`
		Phase    string `json:"phase"`
		Messages int    `json:"messages"`
		engine.Content
	}
	progressLine struct {
		T         int       `json:"t"` // second of the run; messages of that second, as in timeline.ndjson
		Sent      int       `json:"sent"`
		Accepted  int       `json:"accepted"`
		Arrived   int64     `json:"arrived"` // deliveries
		Backlog   int       `json:"backlog"`
		Latencies []float64 `json:"latencies_ms"`
	}
	resultLine struct {
		Summary   string          `json:"summary"`
		Verdict   runfile.Verdict `json:"verdict"`
		Account   runfile.Account `json:"account"`
		Latency   runfile.Latency `json:"latency"` // arrival
		Exit      int             `json:"exit"`
		Directory string          `json:"directory"`
	}
	errorLine struct {
		Line    int    `json:"line"`
		Message string `json:"message"`
	}
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
	_ = e.Encode(v) // only types that can be encoded come here
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

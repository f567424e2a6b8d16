package record

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/errext/exitcodes"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// caller plays the program that drives a recorder.
type caller struct {
	t    testing.TB
	f    *fake.Pipeline
	dir  string
	in   *io.PipeWriter
	out  *bufio.Reader
	code chan exitcodes.ExitCode
	stop context.CancelFunc // stops the recorder, as a signal does

	recording *recording

	clock   hostClock
	mu      sync.Mutex
	skipped []answerLine // lines that expect read and did not want, such as progress
}

// answerLine holds any line that a recorder writes.
type answerLine struct {
	Ready    *readyLine    `json:"ready"`
	Started  *startedLine  `json:"started"`
	Slots    *[]slotLine   `json:"slots"`
	ID       any           `json:"id"`
	Now      *int64        `json:"now"`
	Progress *progressLine `json:"progress"`
	Error    *errorLine    `json:"error"`
	resultLine
}

// record starts a recorder against f. options is JSON that continues the options line, or replaces some of it: empty,
// or beginning with a comma.
func record(t testing.TB, f *fake.Pipeline, profile, options string) *caller {
	t.Helper()
	test.Start(t, f)
	if push, is := f.Outlet.(*fake.Push); is {
		options = strings.NewReplacer("WS", push.WebSocketURL(), "EVENTS", push.EventsURL()).Replace(options)
	}
	read, in := io.Pipe()
	out, write := io.Pipe()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	c := &caller{
		t: t, f: f, dir: filepath.Join(t.TempDir(), "run"), in: in, out: bufio.NewReader(out),
		code: make(chan exitcodes.ExitCode, 1),
		stop: stop, clock: newHostClock(),
	}
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	c.recording = newRecording(write, os.Getpid(), logger)
	go func() {
		code, _ := c.recording.record(ctx, read)
		_ = write.Close()
		_ = read.Close()
		c.code <- code
	}()
	t.Cleanup(stop)
	described := map[string]any{
		"profile": profile, "ingest": map[string]any{"url": f.IngestURL()},
		"mqtt": map[string]any{"url": f.MQTTURL()}, "dir": c.dir,
		"canary": false, "tool": map[string]any{"name": "other", "version": "1.2"},
	}
	require.NoError(t, json.Unmarshal([]byte("{"+strings.TrimPrefix(options, ",")+"}"), &described))
	line, err := json.Marshal(map[string]any{"options": described})
	require.NoError(t, err)
	c.write("%s", line)
	return c
}

func (c *caller) write(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = fmt.Fprintf(c.in, format+"\n", args...) // the recorder may have ended
}

// expect reads lines until wanted accepts one.
func (c *caller) expect(wanted func(answerLine) bool) (l answerLine) {
	c.t.Helper()
	for {
		text, err := c.out.ReadBytes('\n')
		require.NoError(c.t, err)
		l = answerLine{}
		require.NoError(c.t, json.Unmarshal(text, &l), "%s", text)
		if wanted(l) {
			return l
		}
		c.skipped = append(c.skipped, l)
	}
}

func (c *caller) started() {
	c.t.Helper()
	require.NotNil(c.t, c.expect(func(l answerLine) bool { return l.Ready != nil || l.Error != nil }).Ready)
	c.write(`{"start": {"in_us": 50000}}`)
	require.NotNil(c.t, c.expect(func(l answerLine) bool { return l.Started != nil }).Started)
}

func (c *caller) slots(line string) []slotLine {
	c.t.Helper()
	c.write("%s", line)
	return *c.expect(func(l answerLine) bool { return l.Slots != nil }).Slots
}

// send posts a request when it is due, and writes its sent and settled lines.
func (c *caller) send(s slotLine) {
	time.Sleep(time.Until(c.clock.time(s.DueUS)))
	c.write(`{"sent": %d, "at_us": %d}`, s.N, c.clock.us(time.Now()))
	answer, err := http.Post(c.f.IngestURL()+s.Path, "application/json", strings.NewReader(s.Body))
	at := c.clock.us(time.Now())
	if err != nil {
		c.write(`{"settled": %d, "at_us": %d, "error": "closed", "message": %q}`, s.N, at, err)
		return
	}
	body, _ := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	c.write(`{"settled": %d, "at_us": %d, "status": %d, "body": %q}`, s.N, at, answer.StatusCode, body)
}

// sendAll sends all requests of the open model.
func (c *caller) sendAll() {
	c.t.Helper()
	var sending sync.WaitGroup
	for slots := c.slots(`{"next": 50}`); len(slots) > 0; slots = c.slots(`{"next": 50}`) {
		for _, s := range slots {
			sending.Go(func() { c.send(s) })
		}
	}
	sending.Wait()
}

// end ends the load and returns the run, as written to disk and as reported to the caller.
func (c *caller) end() (*runfile.Run, answerLine, exitcodes.ExitCode) {
	c.t.Helper()
	c.write(`{"end": true}`)
	last := c.expect(func(l answerLine) bool { return l.Summary != "" || l.Error != nil })
	return c.written(), last, <-c.code
}

func (c *caller) written() *runfile.Run {
	c.t.Helper()
	return test.Run(c.t, c.dir)
}

// inFlight returns the number of requests of the closed model in flight.
func (d *desk) inFlight() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.underWay
}

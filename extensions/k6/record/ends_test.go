package record

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/errext/exitcodes"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

const ten = "phases: [{duration: 1, arrivalRate: 10}]\nflows: [{name: direct}]"

func TestAnAbortedRecorderWritesAnIncompleteReport(t *testing.T) {
	t.Parallel()
	for name, disconnect := range map[string]func(*caller){
		"the caller closes its pipe":  func(c *caller) { _ = c.in.Close() },
		"the recorder is interrupted": func(c *caller) { c.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := record(t, &fake.Pipeline{}, ten, "")
			c.started()
			for _, s := range c.slots(`{"next": 3}`) {
				c.send(s)
			}
			disconnect(c)
			last := c.expect(func(l answerLine) bool { return l.Summary != "" })
			assert.Equal(t, exitcodes.ExternalAbort, <-c.code)
			assert.Equal(t, int(exitcodes.ExternalAbort), last.Exit)
			r := c.written()
			assert.Nil(t, r.Run.Ended)
			assert.Equal(t, runfile.Incomplete, r.Verdict.Result)
			assert.Equal(t, 3, r.Account.Requests.Sent)
			assert.True(t, r.Account.Balanced)
		})
	}
}

// Regression: "give the load generator more cores", where a hook of the caller's script had refused each request.
func TestRequestsThatTheCallerDoesNotSendAreTheCause(t *testing.T) {
	t.Parallel()
	c := record(t, &fake.Pipeline{}, ten, `, "idle": "300ms"`)
	c.started()
	all := c.slots(`{"next": 10}`)
	c.send(all[0])
	for _, s := range all[1:] {
		c.write(`{"unsent": %d, "message": "the hook sign failed: no key"}`, s.N)
	}
	r, _, _ := c.end()
	assert.Equal(t, runfile.Requests{Scheduled: 10, Sent: 1}, r.Account.Requests)
	assert.True(t, r.Account.Balanced)
	assert.Equal(t, runfile.Invalid, r.Verdict.Result)
	assert.Contains(t, r.Answer.Sentence, "9 of 10 requests were not sent: the hook sign failed: no key")
	assert.NotContains(t, r.Answer.Sentence, "cores")
}

func TestARunThatDidNotBeginLeavesNothing(t *testing.T) {
	t.Parallel()
	c := record(t, &fake.Pipeline{}, ten, "")
	require.NotNil(t, c.expect(func(l answerLine) bool { return l.Ready != nil }).Ready)
	require.NoError(t, c.in.Close())
	_, err := io.ReadAll(c.out)
	require.NoError(t, err)
	assert.Equal(t, exitcodes.ExternalAbort, <-c.code)
	assert.NoDirExists(t, c.dir)
}

// Regression: Artillery starts its first phase, finds that a scenario's engine is unknown, and dies.
func TestACallerThatDiesBeforeItsFirstRequestLeavesNothing(t *testing.T) {
	t.Parallel()
	c := record(t, &fake.Pipeline{}, toldProfile, toldOption)
	c.tellStart()
	require.NoError(t, c.in.Close())
	_, err := io.ReadAll(c.out)
	require.NoError(t, err)
	assert.Equal(t, exitcodes.ExternalAbort, <-c.code)
	assert.NoDirExists(t, c.dir)
}

func TestAnInvalidLineEndsTheRecordingWithItsNumber(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"next": 1`:                                 "the line is not understood: it is not one JSON value: it ends too early; allowed: one JSON object with one of",
		`{"nex": 1}`:                                 `unknown option "nex"`,
		`{"now": true} {}`:                           "not one JSON value",
		`{"now": true}}`:                             "not one JSON value",
		`{"Now": true}`:                              `unknown option "Now"`,
		`{"next": 1, "next": 2}`:                     `option "next" is set twice`,
		`{"next": 1, "end": true}`:                   "the line has 2 of what it may say",
		`{"options": {}}`:                            "a second options line; allowed: one, the first",
		`{"start": true}`:                            "a second start line; allowed: one",
		`{"next": 0}`:                                "next 0; allowed: 1 to 10000",
		`{"next": 1, "flow": "direct"}`:              "a flow can be chosen in the closed model",
		`{"sent": 9, "at_us": NOW}`:                  "request 9 is not under way: it was not handed out, or is settled already",
		`{"sent": 0}`:                                "sent 0: at_us is missing",
		`{"sent": 0, "at_us": FUTURE}`:               "s in the future, so the clock is another one; allowed: µs of the host's monotonic clock",
		`{"sent": 0, "at_us": -9223372036854775808}`: "s before the recorder began, so the clock is another one",
		`{"sent": 0, "at_us": 9223372036854775807}`:  "s in the future, so the clock is another one",
		`{"settled": 0, "at_us": NOW, "status": 202, "retries": 9223372036854775807}`: "retries 9223372036854775807; allowed: 0 to 10000",
		`{"unsent": 9}`: "request 9 is not under way",
		`{"settled": 0, "at_us": NOW, "status": 202}`:                                        "request 0 was settled, but not sent",
		`{"settled": 0, "at_us": NOW}`:                                                       "status 0 and no error; allowed: a status from 100 to 599, or an error",
		`{"settled": 0, "at_us": NOW, "error": "EPIPE"}`:                                     `error "EPIPE", status 0; allowed: one of both, and as error TLS, closed, failed, name not resolved, refused, reset, timeout`,
		"{\"sent\": 0, \"at_us\": NOW}\n{\"sent\": 0, \"at_us\": NOW}":                       "request 0 was sent already",
		"{\"sent\": 0, \"at_us\": NOW}\n{\"settled\": 0, \"at_us\": EARLY, \"status\": 202}": "s before it was sent",
		"{\"sent\": 0, \"at_us\": NOW}\n{\"settled\": 0, \"at_us\": NOW, \"status\": 202}\n{\"settled\": 0, \"at_us\": NOW, \"status\": 202}": "request 0 is not under way",
		`{"figure": {"value": 1}}`: "figure: name is missing",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			c := record(t, &fake.Pipeline{}, ten, "")
			c.started()
			require.Len(t, c.slots(`{"next": 1}`), 1)
			now := c.clock.us(time.Now())
			lines := strings.NewReplacer("FUTURE", fmt.Sprint(now+5_000_000), "NOW", fmt.Sprint(now),
				"EARLY", fmt.Sprint(now-500_000)).Replace(line)
			c.write("%s", lines)
			wrong := c.expect(func(l answerLine) bool { return l.Error != nil }).Error
			assert.Contains(t, wrong.Message, want)
			assert.Equal(t, 4+strings.Count(lines, "\n"), wrong.Line, "after the options, start and next lines")
			assert.Equal(t, exitcodes.ThresholdsHaveFailed, <-c.code)
			assert.Equal(t, runfile.Incomplete, c.written().Verdict.Result)
		})
	}
}

func TestInvalidRecorderOptionsAreRefused(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]string{
		`, "limits": {"http_req_duration": ["p(95)<1"]}`: "limits.http_req_duration is not measured here; allowed: arrival_latency, arrival_p99, arrival_scheduled",
		`, "limits": {"arrival_p99": ["p(95)<1"]}`:       "limits.arrival_p99",
		`, "limits": {"arrival_p99": ["fast"]}`:          "limits.arrival_p99",
		`, "sendres": 1`:                                 `options: unknown option "sendres"`,
		`, "drain": "soon"`:                              `drain is "soon", which is not a duration`,
		`, "pid": -1`:                                    "pid -1 is not the number of a process",
		`, "tool": {"name": "a b"}`:                      `tool.name "a b"`,
		`, "publishers": {"url": "mqtt://127.0.0.1:1"}`:  "publishers are k6's own sender",
		`, "mqtt": {"url": "mqtt://127.0.0.1:1"}`:        "refused",
	} {
		t.Run(options, func(t *testing.T) {
			t.Parallel()
			c := record(t, &fake.Pipeline{}, ten, options)
			wrong := c.expect(func(l answerLine) bool { return l.Error != nil }).Error
			assert.Contains(t, wrong.Message, want)
			assert.Equal(t, 1, wrong.Line)
			assert.Equal(t, exitcodes.InvalidConfig, <-c.code)
		})
	}
}

func TestTheFirstCanaryMustArrive(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]*fake.Pipeline{
		"refuses messages: HTTP 400":               {Status: func(int) int { return 400 }},
		", and did not arrive on messages/canary/": {Copies: func(int) int { return 0 }},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			c := record(t, f, ten, `, "canary": true, "drain": "300ms"`)
			assert.Contains(t, c.expect(func(l answerLine) bool { return l.Error != nil }).Error.Message, want)
			assert.Equal(t, exitcodes.InvalidConfig, <-c.code)
		})
	}
	c := record(t, &fake.Pipeline{}, ten, `, "canary": true`)
	c.started()
	c.sendAll()
	r, _, _ := c.end()
	assert.Equal(t, 1, r.Canary.Sent)
	assert.Equal(t, 10, r.Account.Arrived)
	assert.Zero(t, r.Account.Foreign)
}

func TestARecorderAcceptsOneCallerOnASocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	accepted := make(chan net.Conn, 1)
	go func() {
		conn, err := acceptOne(ctx, path)
		if assert.NoError(t, err) {
			accepted <- conn
		}
	}()
	var conn net.Conn
	require.Eventually(t, func() (ok bool) {
		var err error
		conn, err = net.Dial("unix", path)
		return err == nil
	}, time.Minute, time.Millisecond)
	server := <-accepted
	_, err := os.Stat(path)
	assert.ErrorIs(t, err, os.ErrNotExist)
	code := make(chan exitcodes.ExitCode, 1)
	go func() {
		logger := logrus.New()
		logger.SetOutput(io.Discard)
		got, _ := newRecording(server, os.Getpid(), logger).record(ctx, server)
		_ = server.Close()
		code <- got
	}()
	_, err = conn.Write([]byte("{\"now\": true}\n\n{\"next\": 1}\n"))
	require.NoError(t, err)
	output, err := io.ReadAll(conn)
	require.NoError(t, err)
	assert.Regexp(t, `^{"now":\d+}\n{"error":{"line":3,"message":"there are no options yet; allowed: .*"}}\n$`,
		string(output))
	assert.Equal(t, exitcodes.InvalidConfig, <-code)
}

package record

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sirupsen/logrus"
	"go.k6.io/k6/v2/errext/exitcodes"

	"github.com/arrival-bench/arrival/extensions/k6/internal/engine"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// recording is a run whose requests another program, the caller, sends. They exchange lines of JSON.
type recording struct {
	out    *answers
	clock  hostClock
	parent int // this process's
	logger logrus.FieldLogger
	run    *engine.External // nil: no options yet

	ready  chan struct{} // closed when everything is prepared
	starts chan start    // holds what the start line says, once
	asked  bool          // a start was requested
	told   bool          // a request was told
	ended  chan struct{} // closed by the end line
	done   chan struct{} // closed when the run is over, however it ended; nil: no run
	failed error         // the error of the run

	desk *desk
}

func newRecording(out io.Writer, parent int, logger logrus.FieldLogger) *recording {
	r := &recording{
		out: newAnswers(out), clock: newHostClock(), parent: parent, logger: logger,
		ready: make(chan struct{}), starts: make(chan start, 1), ended: make(chan struct{}),
	}
	r.desk = &desk{recording: r, tickets: map[int]*ticket{}, changed: make(chan struct{}, 1)}
	return r
}

var (
	errGone        = errors.New(`the input ended without {"end": true}`)
	errInterrupted = errors.New("the recorder was interrupted")
)

// record records until the end line has been answered. The exit code is k6's: 99 if the run does not pass, 104
// if it could not be prepared, 105 if it was cut off.
func (r *recording) record(ctx context.Context, in io.Reader) (exitcodes.ExitCode, error) {
	ctx, stop := context.WithCancel(ctx)
	defer r.out.close()
	defer stop()
	lines, n := readLines(ctx, in), 0
	for {
		select {
		case text, more := <-lines:
			if !more {
				if lines = nil; !schedule.IsClosed(r.ended) {
					stop()
					return r.cutOff(errGone)
				}
				continue
			}
			n++
			if len(bytes.TrimSpace(text)) == 0 {
				continue
			}
			if err := r.handle(ctx, text); err != nil {
				stop()
				return r.refuse(n, err)
			}
		case <-r.done:
			switch {
			case ctx.Err() != nil:
				return r.cutOff(errInterrupted)
			case r.failed != nil:
				return r.refuse(n, r.failed)
			}
			return r.conclude()
		case <-ctx.Done():
			return r.cutOff(errInterrupted)
		}
	}
}

// readLines closes the channel at the end of the input.
func readLines(ctx context.Context, in io.Reader) <-chan []byte {
	lines := make(chan []byte, answersQueue)
	go func() {
		defer close(lines)
		for b := bufio.NewReader(in); ; {
			text, err := b.ReadBytes('\n')
			if len(text) > 0 {
				select {
				case lines <- text:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}

// refuse ends the recording because of a wrong line or a failed measurement.
func (r *recording) refuse(line int, err error) (exitcodes.ExitCode, error) {
	code := exitcodes.ThresholdsHaveFailed
	if !schedule.IsClosed(r.ready) {
		code = exitcodes.InvalidConfig
	}
	message := words.Printable(err.Error())
	r.out.write("error", errorLine{line, message})
	r.wait()
	return code, fmt.Errorf("line %d: %s", line, message)
}

// cutOff ends the recording early. It writes the report of what was measured, if anything was to be.
func (r *recording) cutOff(why error) (exitcodes.ExitCode, error) {
	r.wait()
	if r.run != nil && schedule.IsClosed(r.run.Started()) {
		if errors.Is(why, errGone) && r.run.Told() && !r.told { // the caller died before its first request
			return exitcodes.ExternalAbort, errors.Join(why, r.run.Withdraw())
		}
		result, err := r.result()
		if err != nil {
			return exitcodes.ExternalAbort, errors.Join(why, err)
		}
		result.Exit = int(exitcodes.ExternalAbort)
		r.out.writeLine(result)
	}
	return exitcodes.ExternalAbort, why
}

// conclude reports the result of a completed run.
func (r *recording) conclude() (exitcodes.ExitCode, error) {
	result, err := r.result()
	if err != nil {
		return exitcodes.ThresholdsHaveFailed, err
	}
	r.out.writeLine(result)
	if result.Exit != 0 {
		return exitcodes.ThresholdsHaveFailed, fmt.Errorf("the run is not a pass: %s", result.Verdict.Result)
	}
	return 0, nil
}

func (r *recording) result() (resultLine, error) {
	run, summary, directory, err := r.run.Result()
	line := resultLine{
		Summary: summary, Verdict: run.Verdict, Account: run.Account, Latency: run.Latency.Arrival,
		Directory: directory,
	}
	if run.Verdict.Result != runfile.Pass {
		line.Exit = int(exitcodes.ThresholdsHaveFailed)
	}
	return line, err
}

// wait returns when the run is over, or at once if there is none.
func (r *recording) wait() {
	if r.done != nil {
		<-r.done
	}
}

// The run calls its caller through this interface.
var _ engine.Caller = &recording{}

// Open implements engine.Caller: it waits for the start line.
func (r *recording) Open(ctx context.Context, p engine.Prepared) (time.Time, error) {
	r.out.write("ready", readyLine{p, r.clock.us(time.Now())})
	close(r.ready)
	select {
	case s := <-r.starts:
		epoch := s.epoch(time.Now())
		r.out.write("started", startedLine{r.clock.us(epoch)})
		return epoch, nil
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
}

// Ended implements engine.Caller.
func (r *recording) Ended() <-chan struct{} { return r.ended }

// Look implements engine.Caller.
func (r *recording) Look(now time.Time) { r.desk.dropUnsent(now) }

// Second implements engine.Caller.
func (r *recording) Second(row runfile.Interval, latencies []float64) {
	r.out.tryWrite("progress", progressLine{
		T: row.T, Sent: row.Sent, Accepted: row.Accepted, Arrived: row.Arrived, Backlog: row.Backlog,
		Latencies: latencies,
	})
}

package arrival

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
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// recording is a run whose requests another program sends, the caller. They exchange lines of JSON.
type recording struct {
	out      *sayer
	clock    hostClock
	pid      int // of the caller
	logger   logrus.FieldLogger
	registry *metrics.Registry
	metrics  *runMetrics
	limits   map[string]metrics.Thresholds
	engine   *engine // nil: the options have not come

	ready  chan struct{}      // closed when everything is prepared
	starts chan time.Duration // holds what the start line says, once
	asked  bool               // to start
	ended  chan struct{}      // closed by the end line
	done   chan struct{}      // closed when the run is over, in whatever way; nil: there is none
	failed error              // what the run ended with

	desk    *desk
	samples chan metrics.SampleContainer
	recent  reservoir // of arrival latencies
}

// mark is closed when the samples before it have been counted.
type mark chan struct{}

// GetSamples implements metrics.SampleContainer.
func (m mark) GetSamples() []metrics.Sample {
	close(m)
	return nil
}

func newRecording(out io.Writer, pid int, logger logrus.FieldLogger) *recording {
	registry := metrics.NewRegistry()
	r := &recording{
		out: newSayer(out), clock: newHostClock(), pid: pid, logger: logger, registry: registry, metrics: registerMetrics(registry),
		ready: make(chan struct{}), starts: make(chan time.Duration, 1), ended: make(chan struct{}),
	}
	r.desk = newDesk(r)
	return r
}

var (
	errGone        = errors.New(`the input ended without {"end": true}`)
	errInterrupted = errors.New("the recorder was interrupted")
)

// run records until the end line has been answered. The exit code is k6's: 99 where the run does not pass, 104 where it could not be
// prepared, 105 where it was cut off.
func (r *recording) run(ctx context.Context, in io.Reader) (exitcodes.ExitCode, error) {
	ctx, stop := context.WithCancel(ctx)
	defer r.out.close()
	defer stop()
	lines, n := readLines(ctx, in), 0
	for {
		select {
		case text, more := <-lines:
			if !more {
				if lines = nil; !r.hasEnded() {
					stop()
					return r.cutOff(errGone)
				}
				continue
			}
			n++
			if len(bytes.TrimSpace(text)) == 0 {
				continue
			}
			if err := r.hear(ctx, text); err != nil {
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
	lines := make(chan []byte, sayerQueue)
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

// refuse ends the recording for a reason that stands in what the caller said, or in what is measured.
func (r *recording) refuse(line int, err error) (exitcodes.ExitCode, error) {
	code := exitcodes.ThresholdsHaveFailed
	select {
	case <-r.ready:
	default:
		code = exitcodes.InvalidConfig
	}
	message := report.Printable(err.Error())
	r.out.say("error", errorLine{line, message})
	r.wait()
	return code, fmt.Errorf("line %d: %s", line, message)
}

// cutOff ends the recording before its end. What is known is written.
func (r *recording) cutOff(why error) (exitcodes.ExitCode, error) {
	r.wait()
	if r.hasBegun() {
		result, err := r.result()
		if err != nil {
			return exitcodes.ExternalAbort, errors.Join(why, err)
		}
		result.Exit = int(exitcodes.ExternalAbort)
		r.out.sayLine(result)
	}
	return exitcodes.ExternalAbort, why
}

// conclude tells the result of a run that has come to its end.
func (r *recording) conclude() (exitcodes.ExitCode, error) {
	result, err := r.result()
	if err != nil {
		return exitcodes.ThresholdsHaveFailed, err
	}
	r.out.sayLine(result)
	if result.Exit != 0 {
		return exitcodes.ThresholdsHaveFailed, fmt.Errorf("the run is not a pass: %s", result.Verdict.Result)
	}
	return 0, nil
}

func (r *recording) result() (resultLine, error) {
	run, err := r.engine.lastReport(r.registry)
	line := resultLine{
		Summary: report.Text(run, r.engine.whereabouts(), false), Verdict: run.Verdict, Account: run.Account, Latency: run.Latency.Arrival,
		Directory: r.engine.dir,
	}
	if run.Verdict.Result != report.Pass {
		line.Exit = int(exitcodes.ThresholdsHaveFailed)
	}
	return line, err
}

// wait returns when the run is over, if there is one.
func (r *recording) wait() {
	if r.done != nil {
		<-r.done
	}
}

func (r *recording) hasBegun() bool {
	if r.engine == nil {
		return false
	}
	select {
	case <-r.engine.started:
		return true
	default:
		return false
	}
}

// collect runs the life of the run, with what it wants of k6.
func (r *recording) collect(ctx context.Context) {
	counted := make(chan struct{})
	r.samples = make(chan metrics.SampleContainer, pendingMost)
	go func() {
		defer close(counted)
		for container := range r.samples {
			for _, sample := range container.GetSamples() {
				sample.Metric.Sink.Add(sample)
				if sample.Metric == r.metrics.latency {
					r.recent.add(sample.Value)
				}
			}
		}
	}()
	state := &lib.State{
		Options: lib.Options{Thresholds: r.limits}, Samples: r.samples, Tags: lib.NewVUStateTags(r.registry.RootTagSet()),
		Logger: r.logger, BuiltinMetrics: metrics.RegisterBuiltinMetrics(r.registry), Dialer: newDialer(),
	}
	r.failed = r.engine.collect(ctx, state, r.metrics)
	close(r.samples)
	<-counted
	close(r.done)
}

package engine

import (
	"context"
	"fmt"
	"time"

	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/render"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// stepLeast is the smallest step of Redis' clock that a report names.
const stepLeast = 10 * time.Millisecond

// record completes what the report needs, and writes it. k6 gets the module's metrics, for the script's thresholds.
func (e *Engine) record(ctx context.Context, p *prepared, rec *recorder) error {
	if e.options.Sampled > 0 {
		sampled := p.store.Traces(ctx, &e.parts, e.options.Sampled)
		e.notes.note(func() { e.notes.sampled = sampled })
	}
	e.collectSpans(ctx)
	e.Clock.End()
	if step := time.Duration(e.Clock.Read().Step) * time.Microsecond; step.Abs() >= stepLeast {
		e.notes.Count("clock", "set during the run", fmt.Sprintf("the clock of Redis moved by %s against this host's: "+
			"deliveries with stamps from before and after it have no stages", step.Round(time.Millisecond)))
	}
	rec.doubt()
	e.notes.note(func() { e.notes.resources = append(e.notes.resources, rec.resources()...) })
	e.judging.stopCounting()
	e.life.change(func(p *progress) { p.ended, p.finished = time.Now(), true })
	e.trace(ctx, p.vu.state.Logger)
	p.vu.conclude(ctx, e)
	return e.write() // k6 writes it again at the end of the test, with its own metrics
}

// write writes run.json, the page and the CI files atomically: a reader never finds a partial file.
func (e *Engine) write() error { return e.save(e.report(e.lossless())) }

// lossless reports whether a report has the histograms: always for one of several instances, as the files of a killed
// instance are merged with the others.
func (e *Engine) lossless() bool { return e.life.now().finished || !e.segment.Alone() }

// writeLatest writes the report of the run so far without its seconds. The timeline has so many of them.
func (e *Engine) writeLatest(seconds int) error {
	noted, _ := e.notes.noted()
	r := description{e, e.lossless()}.describe([]runfile.Interval{})
	return runfile.SaveLatest(e.dir.path(), r, seconds, noted.answer)
}

func (e *Engine) save(r *runfile.Run) error {
	noted, _ := e.notes.noted()
	err := render.SaveWhole(e.dir.path(), r, noted.answer)
	if err != nil {
		e.dir.removePage()
	}
	return err
}

// LastReport judges the run and writes its last report. page is where it is, for the reader.
func (e *Engine) LastReport(registry *metrics.Registry) (run *runfile.Run, page string, err error) {
	e.judging.Conclude(registry, e.judging.lasted())
	r := e.report(true)
	e.life.change(func(p *progress) { p.result = r.Verdict.Result })
	err = e.save(r)
	e.life.change(func(p *progress) { p.reported = err == nil })
	return r, e.dir.page(), err
}

// Result is the run as it stands. In handleSummary k6's metrics are final, and all limits are judged.
func (e *Engine) Result(registry *metrics.Registry) *runfile.Run {
	if e.TestEnded() {
		e.judging.Conclude(registry, e.judging.lasted())
	}
	return e.report(false)
}

// TestEnded reports whether k6 has ended the test, so that its thresholds can be judged.
func (e *Engine) TestEnded() bool { return e.judging.TestEnded() }

// Directory holds the files of the run; empty: it has none.
func (e *Engine) Directory() string { return e.dir.path() }

// Connections describes how long it took to connect to the ingest.
func (e *Engine) Connections() runfile.Latency {
	e.notes.mu.Lock()
	defer e.notes.mu.Unlock()
	return runfile.NewLatency(&e.notes.connects, false)
}

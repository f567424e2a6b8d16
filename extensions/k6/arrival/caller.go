package arrival

import (
	"context"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// What an engine asks of its caller. Where k6 sends, there is none: the recording is nil.

// opening returns the moment of the start. A recorder waits until its caller says it; nil: k6 sends, and it is soon.
func (r *recording) opening(ctx context.Context) (time.Time, error) {
	if r == nil {
		return time.Now().Add(lead), nil
	}
	e := r.engine
	if e.canary != nil {
		if err := e.canary.Greet(ctx); err != nil {
			return time.Time{}, err
		}
	}
	line := readyLine{
		Run: e.id, Name: e.runName(), Directory: e.dir, Senders: e.options.Senders, Closed: e.pacer.Closed(), NowUS: r.clock.us(time.Now()),
	}
	for _, p := range e.options.profile.Phases {
		line.Phases = append(line.Phases, p.Name)
	}
	if line.Closed {
		line.Senders = e.options.profile.Most()
	} else {
		line.Requests = new(e.pacer.Requests())
	}
	r.out.say("ready", line)
	close(r.ready)
	select {
	case in := <-r.starts:
		epoch := time.Now().Add(in)
		r.out.say("started", startedLine{r.clock.us(epoch)})
		return epoch, nil
	case <-ctx.Done():
		return time.Time{}, errStopped
	}
}

// hasEnded reports whether the caller has said that nothing more will be sent; of a run that k6 sends, the schedule says it.
func (r *recording) hasEnded() bool {
	if r == nil {
		return true
	}
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// untilEnd returns a context that ends with the load.
func (r *recording) untilEnd(ctx context.Context) context.Context {
	if r == nil {
		return ctx
	}
	ctx, end := context.WithCancel(ctx)
	go func() {
		defer end()
		select {
		case <-r.ended:
		case <-ctx.Done():
		}
	}()
	return ctx
}

// dropUnsent drops what the caller was given and did not send in time.
func (r *recording) dropUnsent(now time.Time) {
	if r != nil {
		r.desk.dropUnsent(now)
	}
}

// second shows a second that is over.
func (r *recording) second(row report.Interval) {
	if r == nil {
		return
	}
	counted := make(mark)
	r.samples <- counted
	<-counted
	r.out.mention("progress", progressLine{
		T: row.T, Sent: row.Sent, Accepted: row.Accepted, Arrived: row.Arrived, Backlog: row.Backlog, Latencies: r.recent.take(),
	})
}

package record

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/engine"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/send"
)

// slackMost is how far a caller's time may be in the future, or before the recorder began.
const slackMost = time.Second

// retriesMost is how often a caller may have sent a request again.
const retriesMost = 10_000

// nextMost is how many requests are handed out at once.
const nextMost = 10_000

// handle executes one line of the caller.
func (r *recording) handle(ctx context.Context, text []byte) error {
	l, err := readLine(text)
	if err != nil {
		return err
	}
	switch {
	case l.Now != nil:
		r.out.write("now", r.clock.us(time.Now()))
		return nil
	case l.Options != nil:
		return r.prepare(ctx, l.Options)
	case r.run == nil:
		return errors.New(`there are no options yet; allowed: {"options": {…}} first`)
	case l.Figure != nil:
		return r.figure(*l.Figure)
	case l.Start != nil:
		return r.begin(l.Start)
	case l.Next != nil:
		return r.next(ctx, l)
	case l.Due != nil:
		return r.due(ctx, l)
	case l.Sent != nil:
		at, err := r.moment(l.AtUS)
		if err != nil {
			return fmt.Errorf("sent %d: %w", *l.Sent, err)
		}
		if l.Body != "" {
			r.run.Contains(*l.Sent, []byte(l.Body))
		}
		return r.desk.sent(*l.Sent, at)
	case l.Unsent != nil:
		return r.desk.unsent(*l.Unsent, cmp.Or(l.Message, "the caller gave no reason"))
	case l.Settled != nil:
		a, err := r.answerOf(l)
		if err != nil {
			return fmt.Errorf("settled %d: %w", *l.Settled, err)
		}
		return r.desk.settled(*l.Settled, l.Retries, a)
	case l.Arrived != nil:
		return r.arrived(ctx, l)
	}
	return r.end()
}

// prepare makes the run and starts connecting.
func (r *recording) prepare(ctx context.Context, text json.RawMessage) error {
	if r.run != nil {
		return errors.New("a second options line; allowed: one, the first")
	}
	run, err := engine.NewExternal(text, r, r.parent, r.logger)
	if err != nil {
		return err
	}
	r.run, r.done = run, make(chan struct{})
	go func() {
		defer close(r.done)
		r.failed = run.Collect(ctx)
	}()
	if run.Closed() {
		go r.desk.serve(ctx)
	}
	return nil
}

func (r *recording) figure(f figureLine) error {
	if f.Name == "" {
		return errors.New("figure: name is missing")
	}
	value := math.NaN()
	if f.Value != nil {
		value = *f.Value
	}
	r.run.Figure(f.Name, value, f.Unit)
	return nil
}

func (r *recording) begin(line json.RawMessage) error {
	s, err := r.startOf(line)
	if err != nil {
		return err
	}
	if r.asked {
		return errors.New("a second start line; allowed: one")
	}
	r.asked = true
	r.starts <- s
	return nil
}

// due takes a request that the caller tells.
func (r *recording) due(ctx context.Context, l line) error {
	if !r.run.Told() {
		return errors.New(`due is for a run with the option "told": true; others have their requests from next`)
	}
	if !r.asked {
		return errors.New(`due before start; allowed: {"start": {"at_us": …}} first`)
	}
	at, err := r.moment(l.AtUS)
	if err != nil {
		return fmt.Errorf("due %d: %w", *l.Due, err)
	}
	select {
	case <-r.run.Started():
	case <-r.done: // the reason follows
		return nil
	case <-ctx.Done():
		return nil
	}
	request, err := r.run.Tell(ctx, *l.Due, at, l.Flow)
	if err != nil {
		return fmt.Errorf("due %d: %w", *l.Due, err)
	}
	r.told = true
	r.desk.hold(request)
	return nil
}

func (r *recording) next(ctx context.Context, l line) error {
	if r.run.Told() {
		return errors.New(`next is not for a run whose requests are told; allowed: {"due": n, "at_us": …, "flow": "…"}`)
	}
	n, most := *l.Next, nextMost
	if r.run.Closed() {
		most = 1
	}
	if n < 1 || n > most {
		return fmt.Errorf("next %d; allowed: 1 to %d", n, most)
	}
	if !r.asked {
		return errors.New(`next before start: the schedule has not begun; allowed: {"start": true} first`)
	}
	flow, err := r.run.Flow(l.Flow)
	if err != nil {
		return fmt.Errorf("next, flow %q: %w", l.Flow, err)
	}
	select {
	case <-r.run.Started():
	case <-r.done: // the reason follows
		return nil
	case <-ctx.Done():
		return nil
	}
	if r.run.Closed() {
		r.desk.ask(ask{flow, l.ID})
		return nil
	}
	r.out.writeLine(slotsLine{r.desk.draw(ctx, n), l.ID})
	return nil
}

func (r *recording) end() error {
	if !r.asked {
		return errors.New(`end before start; allowed: {"start": true} first, or to close the input`)
	}
	if schedule.IsClosed(r.ended) {
		return errors.New("a second end line; allowed: one")
	}
	select {
	case <-r.run.Started():
	case <-r.done:
		return nil
	}
	r.desk.end()
	close(r.ended)
	return nil
}

// moment converts a caller's reading of the host's clock.
func (r *recording) moment(us *int64) (time.Time, error) {
	if us == nil {
		return time.Time{}, errors.New("at_us is missing: the moment on the host's monotonic clock, µs")
	}
	const allowed = `, so the clock is another one; allowed: µs of the host's monotonic clock (ask with {"now": true})`
	began, now := float64(r.clock.us(r.clock.base)), float64(r.clock.us(time.Now()))
	switch ahead, before := (float64(*us)-now)/1e6, (began-float64(*us))/1e6; {
	case ahead > slackMost.Seconds():
		return time.Time{}, fmt.Errorf("at_us is %.1f s in the future"+allowed, ahead)
	case before > slackMost.Seconds():
		return time.Time{}, fmt.Errorf("at_us is %.1f s before the recorder began"+allowed, before)
	}
	return r.clock.time(*us), nil
}

// failures are the allowed names of a request's error, and whether there was a connection.
var failures = map[string]bool{
	"refused": false, "name not resolved": false, "TLS": true, "reset": true, "timeout": true, "closed": true,
	"failed": true,
}

// answerOf is the answer that a settled line describes.
func (r *recording) answerOf(l line) (a send.Result, err error) {
	if a.Done, err = r.moment(l.AtUS); err != nil {
		return a, err
	}
	if l.Retries < 0 || l.Retries > retriesMost {
		return a, fmt.Errorf("retries %d; allowed: 0 to %d", l.Retries, retriesMost)
	}
	a.Body = func() []byte { return []byte(l.Body) }
	if l.Error == "" {
		if a.Status = l.Status; a.Status < 100 || a.Status > 599 {
			return a, fmt.Errorf("status %d and no error; allowed: a status from 100 to 599, or an error", l.Status)
		}
		return a, nil
	}
	connected, known := failures[l.Error]
	if !known || l.Status != 0 {
		return a, fmt.Errorf("error %q, status %d; allowed: one of both, and as error %s", l.Error, l.Status,
			strings.Join(slices.Sorted(maps.Keys(failures)), ", "))
	}
	if l.Connected != nil {
		connected = *l.Connected
	}
	a.Class, a.Err = l.Error, errors.New(cmp.Or(l.Message, l.Error))
	if !connected {
		a.Err = &send.DialError{Cause: a.Err}
	}
	return a, nil
}

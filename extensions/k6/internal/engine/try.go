package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.k6.io/k6/v2/lib"

	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// tryGrace is how long a try may take beyond its time, for an error that says more than that it is over.
const tryGrace = 2 * time.Second

// notRound is the exit code of a try whose message did not go round: that of a run that does not pass.
const notRound = 99

// Try lets one message go round, as a run does before its load, and says step by step what it sees. There is no load,
// and no report. most is how long all of it may take. An error says where the message ended, and why.
func (e *Engine) Try(ctx context.Context, state *lib.State, m *Metrics, most time.Duration,
	say func(step, what string)) error {
	defer e.consumers.release()
	e.life.change(func(p *progress) { p.begun, p.tried = true, true })
	began := time.Now()
	limited, cancel := context.WithTimeoutCause(ctx, most+tryGrace, errors.New("no answer"))
	defer cancel()
	at := ", connecting to " + e.addresses()
	e.step = func(step, what string) {
		at = "" // the error says it
		switch step {
		case "connected":
			at = ", connecting once more for the message"
		case "waiting":
			if denied := e.denied(); denied != "" {
				what += " (calls came that the webhook did not take: " + denied + ")"
			}
		}
		say(step, words.Printable(what))
	}
	err := e.try(limited, state, m, func() time.Duration { return max(time.Second, most-time.Since(began)) })
	if ctx.Err() != nil { // interrupted
		return ctx.Err()
	}
	// The deadline of a connection may pass before limited ends.
	if over, _ := limited.Deadline(); err != nil && !time.Now().Before(over) {
		err = fmt.Errorf("it took longer than %s (--timeout)%s: %w", most, at, err)
	}
	if err != nil {
		e.life.change(func(p *progress) { p.ended = time.Now() })
	}
	return err
}

func (e *Engine) try(ctx context.Context, state *lib.State, m *Metrics, left func() time.Duration) error {
	p, err := e.prepare(ctx, e.attach(ctx, state, m))
	if err != nil {
		return err
	}
	defer p.close(ctx)
	e.greeting = left().Round(100 * time.Millisecond)
	if err := e.greet(ctx, p); err != nil || e.greeted {
		return err
	}
	return errors.New(cmp.Or(e.options.from.NoGreeting, "no message could go round"))
}

// said says what a receiver is connected to, and how long that took.
func (e *Engine) said(r receive.Receiver, took time.Duration) {
	if e.step == nil {
		return
	}
	ms := float64(took.Microseconds()) / 1000
	if l, ok := r.(receive.CallbackReceiver); ok {
		e.step("listening", words.Mask(l.URL()))
		return
	}
	e.step("connected", fmt.Sprintf("to %s in %s ms", e.addresses(), words.MS(&ms)))
}

// addresses are those where messages arrive, without secrets.
func (e *Engine) addresses() string {
	var all []string
	for _, server := range e.options.from.Servers {
		all = append(all, words.MaskAddress(server.URL, ""))
	}
	return strings.Join(all, ", ")
}

package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/arrival-bench/arrival/extensions/k6/internal/facts"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// greet connects the canary, and lets one message go round before the load: a wrong path, token or topic costs one
// message then, and not the whole load. An external caller's run greets when it opens.
func (e *Engine) greet(ctx context.Context, p *prepared) error {
	o, state := e.options, p.vu.state
	greets := e.external == nil && o.greets()
	if !o.Canary && !greets {
		return nil
	}
	if host := proxied(o.Ingest.URL, httpproxy.FromEnvironment()); host != "" {
		state.Logger.Warnf("the canary is left out: the ingest would be reached through the proxy of HTTP_PROXY or "+
			"HTTPS_PROXY, which only k6/http uses; to have a canary, add %s to NO_PROXY", host)
		return nil
	}
	m := p.means
	m.Receiver = p.receiver
	path, err := o.source.Canary(ctx, &e.parts, m)
	if err != nil {
		return err
	}
	timeout := o.Timeout.duration()
	if e.greeting > 0 {
		timeout = min(timeout, e.greeting)
	}
	canary := receive.NewCanary(ctx, &e.parts, path, receive.CanaryOptions{
		Ingest: withK6(o.Ingest, state.Options), Timeout: timeout, Format: o.messages(),
		Drain: o.Drain.duration(), Greeting: e.greeting, Step: e.step, Means: m,
	})
	if greets {
		err = e.goRound(ctx, canary)
	}
	if err != nil || !o.Canary {
		canary.Close()
		return err
	}
	e.canary, p.canary = canary, canary
	return nil
}

// greets reports whether one message goes round before the load. Where the load does not pass the ingest, none can.
func (o *Options) greets() bool {
	if o.from.NoGreeting != "" || o.Publishers != nil || o.Ingest.URL == "" {
		return false
	}
	if o.Greet != nil {
		return *o.Greet
	}
	return o.Canary
}

// goRound lets one message go round. One that comes back other than it was sent ends a run that compares them: each
// message of the load would count as altered.
func (e *Engine) goRound(ctx context.Context, canary *receive.Canary) error {
	altered, err := canary.Greet(ctx)
	e.greeted = err == nil
	if err != nil && e.step == nil && ctx.Err() == nil { // the run has no report, so its last line says what has one
		return fmt.Errorf("%w; k6 x arrival try, with the same settings, shows this message step by step", e.explained(err))
	}
	if err != nil {
		return e.explained(err)
	}
	if altered == "" || !e.compares(ctx) {
		return nil
	}
	return fmt.Errorf("a first message arrived with other content than was sent, so each one of the load would "+
		"count as altered; VERIFY=off (verify: 'off') if the pipeline wraps or rewrites messages on purpose. It came "+
		"as %s", altered)
}

// explained adds to the error of a greeting what went wrong meanwhile where messages arrive.
func (e *Engine) explained(err error) error {
	_, errors := e.notes.noted()
	if denied := e.denied(); denied != "" {
		err = fmt.Errorf("%w; the webhook did not take what came: %s", err, denied)
	}
	for _, one := range errors {
		if one.Class == runfile.LostClass && !strings.Contains(err.Error(), one.Example) {
			err = fmt.Errorf("%w; meanwhile %s × %s: %s", err, words.Count(one.Count), one.Class, one.Example)
		}
	}
	return err
}

// denied says which calls the webhook did not take; empty: none.
func (e *Engine) denied() string {
	_, errors := e.notes.noted()
	return facts.Denied(errors)
}

// compares reports whether the run knows what is sent. That depends on the first sender, so it waits for one, if there
// is a load.
func (e *Engine) compares(ctx context.Context) bool {
	if e.parts.Verify() > 0 && !e.options.Verify.given && e.external == nil && e.step == nil {
		e.attendance.within(ctx, firstSenderMost)
	}
	return e.parts.Verify() > 0
}

// firstSenderMost is how long the first sender of a script may take to call run.send() or run.next().
const firstSenderMost = 5 * time.Second

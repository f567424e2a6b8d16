// Package push has what receivers share whose server pushes messages to a client: WebSocket and server-sent events.
package push

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/tidwall/gjson"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// MessageMost is the longest message that a server may send, in bytes.
const MessageMost = 16 << 20

// ConnectPatience is how long a server may take to accept a connection.
const ConnectPatience = 10 * time.Second

// connectingMost is how many connections are opened at once.
const connectingMost = 64

// Session is a connection that can be opened.
type Session interface {
	receive.Session
	Connect(ctx context.Context) error
}

// Open opens the connections of a run, and begins to read.
func (c *Clients) Open(ctx context.Context, parts *run.Parts, sink *receive.Sink, m receive.Means,
	session func(Client) Session) (*receive.Sessions, error) {
	connect, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	clients := c.plan(parts.Profile)
	sessions := make([]receive.Session, len(clients))
	slots := make(chan struct{}, connectingMost)
	var connecting sync.WaitGroup
	for i, client := range clients {
		one := session(client)
		sessions[i] = one
		slots <- struct{}{}
		connecting.Go(func() {
			defer func() { <-slots }()
			if connect.Err() != nil {
				return
			}
			if err := one.Connect(connect); err != nil {
				stop(err)
			}
		})
	}
	connecting.Wait()
	if err := context.Cause(connect); err != nil {
		for _, one := range sessions {
			one.Close()
		}
		return nil, err
	}
	taker := func(i int) *receive.Taker {
		t := sink.Subscriber(clients[i].Subscriber)
		t.Lines = c.Lines
		t.Place = clients[i].place(sink, parts)
		return t
	}
	return receive.Hold(ctx, parts, m.Patience, sessions, taker, receive.Endings{
		Final: IsFinal, Question: "does the server, or a proxy before it, end each of them?",
	}), nil
}

// place is the Place of a Taker. Of a message that is told only a connection of one target says for whom it is.
func (c Client) place(sink *receive.Sink, p *run.Parts) func(seq int, payload []byte) int {
	told := p.Pacer.Told()
	switch {
	case len(c.Targets) == 0, told && len(c.Targets) > 1:
		return nil
	case told:
		return func(int, []byte) int { return 1 + c.Targets[0] }
	}
	return func(seq int, payload []byte) int {
		if p.Addressed(seq, payload) && !held(c.Targets, sink.TargetOf(seq)) {
			if len(c.Targets) > 1 {
				return ledger.NotHeld
			}
			return 1 + c.Targets[0]
		}
		return 0
	}
}

func held(ascending []int, target int) bool {
	_, found := slices.BinarySearch(ascending, target)
	return found
}

// CanaryClient is the client of a canary (see receive.CanaryTarget).
func (c *Clients) CanaryClient(parts *run.Parts) (client Client, target string) {
	target = receive.CanaryTarget(parts)
	if !c.targeted() {
		return Client{URL: c.URL, First: c.First}, parts.Profile.Flows[0].TargetOf(0)
	}
	return c.of(target, 0), target
}

// Path is where the messages of a canary with a target arrive: on the line of its client.
func (c *Clients) Path(client Client, target string, line receive.Line) *receive.Path {
	return &receive.Path{Target: target, At: c.Name + " " + words.MaskAddress(client.URL, target), Ask: c.Ask,
		Lines: c.Lines, Line: line}
}

// Look is the interval at which an idle connection is looked at: so many of them may not use up a core.
func (c *Clients) Look(p *profile.Profile) time.Duration {
	return max(5*time.Millisecond, time.Duration(len(c.plan(p)))*100*time.Microsecond)
}

// finalError ends a connection that is not to be restored.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

// Final marks an error after which it makes no sense to connect again.
func Final(err error) error { return finalError{err} }

// IsFinal reports whether an error was marked by Final.
func IsFinal(err error) bool {
	var final finalError
	return errors.As(err, &final)
}

// Refused is the error of a status by which a server refuses. After some statuses a retry may succeed.
func Refused(what string, status int) error {
	err := fmt.Errorf("%s: HTTP %d %s", what, status, http.StatusText(status))
	if status < 500 && status != http.StatusTooManyRequests && status != http.StatusRequestTimeout {
		return Final(err)
	}
	return err
}

// Retry calls connect until it succeeds or patience has passed. first is the wait before the second attempt.
func Retry(ctx context.Context, first, patience time.Duration, connect func(context.Context) error) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := connect(ctx)
		if IsFinal(err) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithMaxElapsedTime(patience), backoff.WithBackOff(&backoff.ExponentialBackOff{
		InitialInterval: first, MaxInterval: max(first, time.Second), Multiplier: 2, RandomizationFactor: 0.5,
	}))
	return network.Advise(err)
}

// Stamps finds the stamps of a message of JSON at a path, as text or as a list; nil: it has none.
func Stamps(payload []byte, path string) []byte {
	if path == "" {
		return nil
	}
	switch found := gjson.GetBytes(payload, path); found.Type {
	case gjson.String:
		return []byte(found.Str)
	case gjson.JSON:
		return bytes.ReplaceAll(bytes.Trim([]byte(found.Raw), "[] \t\r\n"), []byte(" "), nil)
	case gjson.Number:
		return []byte(found.Raw)
	}
	return nil
}

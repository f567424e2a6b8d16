package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/callers"
	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// stage is where the report counts what callers do wrong.
const stage = runfile.DenialStage

// stamping accepts connections that know when their bytes arrived, as many as there is room for.
type stamping struct {
	net.Listener
	of     *listener
	stamps *socket.Accepting
}

func (s *stamping) Accept() (net.Conn, error) {
	for {
		conn, err := s.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if place := s.of.room.Enter(conn); place != nil {
			return &connection{Stamped: s.stamps.Stamped(conn), of: s.of, place: place, since: time.Now()}, nil
		}
	}
}

// connection is one of the callers'.
type connection struct {
	*socket.Stamped
	of    *listener
	place *callers.Place
	since time.Time
	used  atomic.Bool // a call has begun
	calls atomic.Bool // the last one has not reached the handler
}

func (c *connection) Close() error {
	c.place.Leave()
	return c.Stamped.Close()
}

// below is the connection below TLS.
func below(conn net.Conn) *connection {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	c, _ := conn.(*connection)
	return c
}

type connKey struct{}

func remember(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, below(conn))
}

// follow counts connections that end within a call.
func (l *listener) follow(conn net.Conn, state http.ConnState) {
	c := below(conn)
	switch state {
	case http.StateActive:
		c.used.Store(true)
		c.calls.Store(true)
	case http.StateClosed:
		switch {
		case c.place.Evicted(): // the room has counted it
		case c.calls.Load():
			l.Count(stage, "cut off or malformed",
				fmt.Sprintf("a call from %s was no HTTP, or ended before its header fields did; "+
					"it may take %s to send them", c.RemoteAddr(), l.limits.header))
		case !c.used.Load() && time.Since(c.since) >= l.limits.header:
			l.Count(stage, "silent connection",
				fmt.Sprintf("%s sent no call within %s", c.RemoteAddr(), l.limits.header))
		}
	}
}

// ServeHTTP takes a call.
func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, ok := r.Context().Value(connKey{}).(*connection)
	if !ok || c == nil {
		return
	}
	c.calls.Store(false)
	coding := r.Header.Get("Content-Encoding")
	switch {
	case r.URL.Path != l.options.Path:
		l.deny(w, http.StatusNotFound, "other path", r.Method+" "+r.URL.Path)
		return
	case r.Method == http.MethodOptions: // the handshake of CloudEvents' webhooks
		w.Header().Set("Allow", "POST, PUT, PATCH, OPTIONS")
		if origin := r.Header.Get("WebHook-Request-Origin"); origin != "" {
			w.Header().Set("WebHook-Allowed-Origin", origin)
			w.Header().Set("WebHook-Allowed-Rate", "*")
		}
		return
	case r.Method != http.MethodPost && r.Method != http.MethodPut && r.Method != http.MethodPatch:
		w.Header().Set("Allow", "POST, PUT, PATCH, OPTIONS")
		l.deny(w, http.StatusMethodNotAllowed, "other method", r.Method+" "+r.URL.Path)
		return
	case receive.Coded(coding):
		l.deny(w, http.StatusUnsupportedMediaType, "content coding",
			coding+": let the pipeline send its calls as they are")
		return
	}
	call := c.place.Begin()
	defer call.End()
	body, err := call.Read(r.Body, l.limits.body)
	at := c.Next()
	switch {
	case errors.Is(err, callers.ErrTooLong):
		w.Header().Set("Connection", "close")
		l.deny(w, http.StatusRequestEntityTooLarge, "body too long", err.Error())
		return
	case errors.Is(err, callers.ErrTooMany):
		w.Header().Set("Connection", "close")
		l.deny(w, http.StatusServiceUnavailable, "too much at once", err.Error())
		return
	case err != nil && c.place.Evicted():
		return
	case err != nil:
		l.deny(w, http.StatusBadRequest, "cut off or malformed", err.Error())
		return
	}
	if l.signed != nil {
		if err := l.signed.Verify(body, r.Header); err != nil {
			l.deny(w, http.StatusUnauthorized, "signature", err.Error())
			return
		}
	}
	if l.refuse.mine() {
		l.deny(w, *l.options.Refuse.Status, "refused on purpose",
			fmt.Sprintf("webhook.refuse: HTTP %d", *l.options.Refuse.Status))
		return
	}
	l.take(l.identify(r.Header, body), body, []byte(r.Header.Get(l.options.Hops)), at)
	if l.late.mine() {
		delay := time.Duration(l.options.Late.Seconds * float64(time.Second))
		clock.SleepUntil(r.Context(), l.done, time.Now().Add(delay))
	}
	w.WriteHeader(*l.options.Status)
}

// deny answers a call that is not an arrival, and counts it.
func (l *listener) deny(w http.ResponseWriter, status int, class, example string) {
	l.Count(stage, class, words.Printable(example))
	w.WriteHeader(status)
}

// identify returns the text that has the id of a message: where the options say, a field of Standard Webhooks or
// CloudEvents, or the body.
func (l *listener) identify(header http.Header, body []byte) []byte {
	if l.Bodies.Located() {
		return l.taker.Within(body, header.Get)
	}
	for _, name := range []string{"webhook-id", "ce-id"} {
		if id := header.Get(name); id != "" && l.taker.Knows(quoted(id)) { // else an id of the pipeline's own
			return quoted(id)
		}
	}
	return body
}

// quoted is an id as a JSON body has it.
func quoted(id string) []byte { return []byte(`"` + id + `"`) }

package fake

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// Push is a pipeline's end that pushes messages: over WebSocket at /ws, and as server-sent events at /events. A client
// gets the topics that it subscribes to, with ?topic= or by sending {"subscribe":"<target>"}, or all of them without
// any.
type Push struct {
	Ack  bool                                              // a subscription is answered with {"subscribed":…}
	Raw  func(nth int, payload []byte) []byte              // the event as it is written, for server-sent events
	Join func(w http.ResponseWriter, r *http.Request) bool // Join accepts a request; false: it has answered it

	Hello string // is pushed to each client first; empty: nothing
	// Bye is why each WebSocket ends, with 4001, when its client has sent a message; empty: none does. With it no client
	// is subscribed.
	Bye string

	Events bool // Receive is for server-sent events

	server  *httptest.Server
	upgrade websocket.Upgrader

	mu      sync.Mutex
	clients map[*client]struct{}
	events  int
	Seen    []string // the Last-Event-ID of each request for events
}

type client struct {
	topics map[string]bool // empty: all
	events bool            // server-sent ones
	write  func(payload []byte) error
	end    func()
}

// Start implements Outlet.
func (p *Push) Start() error {
	p.clients = map[*client]struct{}{}
	p.upgrade.Subprotocols = []string{"arrival"}
	mux := http.NewServeMux()
	mux.HandleFunc("/ws", p.serveWebSocket)
	mux.HandleFunc("/events", p.serveEvents)
	p.server = httptest.NewServer(mux)
	return nil
}

// WebSocketURL is where messages are pushed.
func (p *Push) WebSocketURL() string { return strings.Replace(p.server.URL, "http", "ws", 1) + "/ws" }

// EventsURL is where messages are pushed as server-sent events.
func (p *Push) EventsURL() string { return p.server.URL + "/events" }

// Receive implements Outlet.
func (p *Push) Receive() map[string]any {
	if p.Events {
		return map[string]any{"sse": map[string]any{"url": p.EventsURL()}}
	}
	return map[string]any{"websocket": map[string]any{"url": p.WebSocketURL()}}
}

func (p *Push) add(c *client) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Hello != "" {
		hello := p.Hello
		if c.events {
			hello = "data: " + hello + "\n\n"
		}
		_ = c.write([]byte(hello))
	}
	if p.Bye == "" {
		p.clients[c] = struct{}{}
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.clients, c)
	}
}

func topics(r *http.Request) map[string]bool {
	subscribed := map[string]bool{}
	for _, one := range r.URL.Query()["topic"] {
		subscribed["messages/"+one] = true
	}
	return subscribed
}

func (p *Push) serveWebSocket(w http.ResponseWriter, r *http.Request) {
	if p.Join != nil && !p.Join(w, r) {
		return
	}
	conn, err := p.upgrade.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	var writes sync.Mutex
	write := func(payload []byte) error {
		writes.Lock()
		defer writes.Unlock()
		return conn.WriteMessage(websocket.TextMessage, payload)
	}
	c := &client{topics: topics(r), write: write, end: func() { _ = conn.NetConn().Close() }}
	defer p.add(c)()
	defer conn.Close()
	for {
		var asked struct{ Subscribe string }
		if err := conn.ReadJSON(&asked); err != nil {
			return
		}
		if p.Bye != "" {
			writes.Lock()
			bye := websocket.FormatCloseMessage(4001, p.Bye)
			_ = conn.WriteControl(websocket.CloseMessage, bye, time.Now().Add(time.Second))
			writes.Unlock()
			return
		}
		p.mu.Lock()
		c.topics["messages/"+asked.Subscribe] = true
		p.mu.Unlock()
		if p.Ack {
			_ = write(fmt.Appendf(nil, `{"subscribed":%q}`, asked.Subscribe))
		}
	}
}

func (p *Push) serveEvents(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.Seen = append(p.Seen, r.Header.Get("Last-Event-ID"))
	p.mu.Unlock()
	if p.Join != nil && !p.Join(w, r) {
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	flush := http.NewResponseController(w)
	_ = flush.Flush()
	ctx, end := context.WithCancel(r.Context())
	defer end()
	c := &client{topics: topics(r), events: true, end: end, write: func(payload []byte) error {
		if _, err := w.Write(payload); err != nil {
			return err
		}
		return flush.Flush()
	}}
	defer p.add(c)()
	<-ctx.Done()
	panic(http.ErrAbortHandler) // the connection is cut, not ended
}

// Deliver implements Outlet.
func (p *Push) Deliver(topic string, payload []byte, _ string) (taken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events++
	event := fmt.Appendf(nil, "id: %d\ndata: %s\n\n", p.events, payload)
	if p.Raw != nil {
		event = p.Raw(p.events, payload)
	}
	for c := range p.clients {
		if len(c.topics) > 0 && !c.topics[topic] {
			continue
		}
		text := payload
		if c.events {
			text = event
		}
		taken = c.write(text) == nil || taken
	}
	return taken
}

// Cut implements Outlet.
func (p *Push) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.clients {
		c.end()
		delete(p.clients, c)
	}
}

// Close implements Outlet.
func (p *Push) Close() {
	p.Cut()
	p.server.Close()
}

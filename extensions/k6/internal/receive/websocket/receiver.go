package websocket

import (
	"fmt"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
)

const (
	// pingEvery is the interval of the pings; a server that was not heard of in two of them is gone.
	pingEvery = 15 * time.Second
	// answering is how long a server may take to answer a ping on a busy machine.
	answering = 5 * time.Second
	// listening is the interval at which Check looks for answers.
	listening = 5 * time.Millisecond
)

var errSilent = fmt.Errorf("WebSocket: the server is silent: no answer to a ping within %s (RFC 6455, 5.5.2)",
	pingEvery)

// receiver holds the connections of a run.
type receiver struct {
	*receive.Sessions
	lines   []*line
	over    chan struct{}
	once    sync.Once
	pinging sync.WaitGroup
}

// Close implements receive.Receiver.
func (r *receiver) Close() {
	r.once.Do(func() { close(r.over) })
	r.Sessions.Close()
	r.pinging.Wait()
}

// ping keeps the connections alive, and ends those whose server is silent.
func (r *receiver) ping() {
	ticks := time.NewTicker(pingEvery)
	defer ticks.Stop()
	for before := time.Now(); ; before = time.Now() {
		for _, l := range r.lines {
			l.ping()
		}
		select {
		case <-r.over:
			return
		case <-ticks.C:
		}
		for _, l := range r.lines {
			l.endIfSilent(before)
		}
	}
}

// ping sends a ping. A failure shows in Read.
func (l *line) ping() {
	l.mu.Lock()
	conn := l.conn
	l.mu.Unlock()
	_ = conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Second))
}

// endIfSilent ends a connection whose server was not heard of since a moment.
func (l *line) endIfSilent(since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last().Before(since) && l.conn != nil {
		l.silent = true
		_ = l.conn.Close()
	}
}

// Check pings all servers, and records a gap for each that does not answer: missing messages may have been in flight
// there.
func (r *receiver) Check() {
	asked := time.Now()
	for _, l := range r.lines {
		l.ping()
	}
	for i, l := range r.lines {
		for l.last().Before(asked) {
			if time.Since(asked) > answering {
				r.Silent(i, l.last(), fmt.Errorf("WebSocket: no answer to a ping within %s", answering))
				break
			}
			time.Sleep(listening)
		}
	}
}

package fake

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"time"
)

// Outlet is where messages leave the pipeline in place of its broker. Set it before Start.
type Outlet interface {
	// Start begins to listen, if it does.
	Start() error
	// Deliver delivers a copy of a message and reports whether anybody took it. hops is empty without stamps.
	Deliver(topic string, payload []byte, hops string) (taken bool)
	// Receive are the options of a Run that receives there, after Start.
	Receive() map[string]any
	// Cut closes all connections.
	Cut()
	Close()
}

// Webhook is a pipeline's end that calls a webhook, one message after the other.
type Webhook struct {
	URL     func() string                            // nil: a port that is free at Start
	Sign    func(header http.Header, payload []byte) // sets more header fields; nil: none
	Retries int                                      // how often a call that was refused is repeated
	// CutOff reports whether the connection of the nth call, from 1, ends within its body; nil: none does.
	CutOff func(nth int) bool

	client  http.Client
	address string // host and free port
	calls   int
}

// Start implements Outlet.
func (w *Webhook) Start() error {
	w.client = http.Client{Timeout: time.Minute, Transport: &http.Transport{}}
	if w.URL != nil {
		return nil
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	w.address = free.Addr().String()
	w.URL = func() string { return "http://" + w.address }
	return free.Close()
}

// Receive implements Outlet.
func (w *Webhook) Receive() map[string]any {
	return map[string]any{"webhook": map[string]any{"address": w.address}}
}

// Deliver implements Outlet.
func (w *Webhook) Deliver(_ string, payload []byte, hops string) bool {
	for range 1 + w.Retries {
		if w.call(payload, hops) {
			return true
		}
	}
	return false
}

func (w *Webhook) call(payload []byte, hops string) bool {
	request, err := http.NewRequest(http.MethodPost, w.URL(), bytes.NewReader(payload))
	if err != nil {
		return false
	}
	request.Header.Set("Content-Type", "application/json")
	if hops != "" {
		request.Header.Set("Arrival-Hops", hops)
	}
	if w.Sign != nil {
		w.Sign(request.Header, payload)
	}
	if w.calls++; w.CutOff != nil && w.CutOff(w.calls) {
		return cutOff(request)
	}
	answer, err := w.client.Do(request)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	return answer.StatusCode < 300
}

// cutOff sends half of a request, and ends the connection.
func cutOff(request *http.Request) (taken bool) {
	var b bytes.Buffer
	conn, err := net.Dial("tcp", request.URL.Host)
	if err != nil || request.Write(&b) != nil {
		return false
	}
	_, _ = conn.Write(b.Bytes()[:b.Len()-int(request.ContentLength)/2])
	_ = conn.Close()
	return false
}

// Cut implements Outlet.
func (w *Webhook) Cut() { w.client.CloseIdleConnections() }

// Close implements Outlet.
func (w *Webhook) Close() { w.client.CloseIdleConnections() }

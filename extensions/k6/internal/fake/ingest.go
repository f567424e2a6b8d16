package fake

import (
	"fmt"
	"io"
	"net/http"
	"time"
)

// ServeHTTP is the ingest.
func (f *Pipeline) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	received := time.Now()
	if err != nil {
		return // the sender gave up
	}
	status := f.request(received)
	if status == 0 {
		<-r.Context().Done()
		return
	}
	if !f.wait(r.Context().Done(), received) {
		return
	}
	if status == http.StatusAccepted {
		f.order.Lock()
		f.queue <- accepted{body: body, parent: r.Header.Get("Traceparent"), received: received, at: time.Now()}
		f.order.Unlock()
	}
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "status %d", status)
}

// request counts one and returns its status.
func (f *Pipeline) request(at time.Time) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests++
	if f.requests == f.Freeze.Nth {
		f.frozen = at
	}
	return valueFor(f.Status, f.requests, http.StatusAccepted)
}

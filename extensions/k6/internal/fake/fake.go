// Package fake is a controllable pipeline: an ingest, a broker and a Redis in one, over real HTTP, real MQTT 5
// and real RESP on 127.0.0.1. It treats each message as configured and logs what it did: the known truth that
// the instrument is tested against.
package fake

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Pipeline is configured before Start and runs until Close. Requests and messages are numbered from 1 as they
// arrive; a nil function has no effect.
type Pipeline struct {
	Delay   time.Duration                         // from the acceptance of a request to the delivery of its messages
	Status  func(nth int) int                     // status of the nth answer; nil: always 202. 0: no answer at all
	Anyway  func(nth int) bool                    // the nth request is published, whatever its status
	Answer  func(nth int) time.Duration           // the nth request waits so much longer for its answer; its messages do not
	Service func(nth int) time.Duration           // how long the only server takes for the nth accepted request
	Freeze  Freeze                                // ingest and broker stand still for a while
	Copies  func(nth int) int                     // deliveries of the nth message to each subscriber; nil: always 1
	Route   func(nth int, target string) []string // the targets where the nth message, which is for one, is delivered
	Swap    func(nth int) bool                    // the nth message is delivered after the next one on its topic
	Late    func(nth int) time.Duration           // how much longer the broker holds the nth message; others overtake it
	Far     func(target string) time.Duration     // how much longer the broker holds a message for this target
	Keep    func(nth int) string                  // the stream of Redis that the nth message stays in; "" lets it go
	Rewrite func(nth int, body []byte) []byte     // what the nth message arrives as
	// messages of another run that are delivered before the nth one, on its topic
	Leftovers func(nth int) int
	Hops      func(at time.Time) string // stamps of a message that was accepted at this moment
	Redis     *Redis                    // nil: there is none
	Outlet    Outlet                    // nil: messages leave by the broker
	Traces    *Traces                   // nil: no spans
	Alone     bool                      // a message is written when the one before has been acknowledged

	ingest *httptest.Server
	broker net.Listener
	queue  chan accepted
	silent atomic.Bool
	done   chan struct{}
	acked  chan time.Time
	work   sync.WaitGroup
	order  sync.Mutex // holds the queue in the order of acceptance

	mu          sync.Mutex
	requests    int
	messages    int
	leftovers   int
	frozen      time.Time // the freeze began
	subscribers map[string][]net.Conn
	held        map[string]delivery // held back until the next message on the same topic
	log         []Delivery
	failed      error

	closing sync.Mutex
	conns   []net.Conn
}

// Freeze begins with the nth request, which has to wait as well.
type Freeze struct {
	Nth int // 0: never
	For time.Duration
}

// Delivery is what happened to one message that was delivered. Copies of it are not listed.
type Delivery struct {
	ID       string
	Target   string
	Parent   string    // the traceparent of its request
	Received time.Time // its request had been read from the socket
	Made     time.Time // just before its packet was made, and its stamps with it
	Written  time.Time // just before its first copy was written to a socket
	Handed   time.Time // the kernel had taken all copies
	Acked    time.Time // its acknowledgement had been read; only set with Alone
}

// accepted is a request on its way to the broker.
type accepted struct {
	body         []byte
	parent       string
	received, at time.Time
}

// backlog is how many accepted requests may wait for their delivery.
const backlog = 1 << 14

// Start listens on free ports.
func (f *Pipeline) Start() error {
	var err error
	if f.broker, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return fmt.Errorf("the fake broker can't listen: %w", err)
	}
	if f.Redis != nil {
		if err = f.Redis.start(); err != nil {
			_ = f.broker.Close()
			return err
		}
	}
	if f.Outlet != nil {
		if err = f.Outlet.Start(); err != nil {
			_ = f.broker.Close()
			return err
		}
	}
	if f.Traces != nil {
		if err = f.Traces.start(); err != nil {
			_ = f.broker.Close()
			return err
		}
	}
	f.subscribers, f.held = map[string][]net.Conn{}, map[string]delivery{}
	f.queue, f.done, f.acked = make(chan accepted, backlog), make(chan struct{}), make(chan time.Time, 1)
	f.ingest = httptest.NewServer(f)
	f.work.Go(f.accept)
	f.work.Go(f.relay)
	return nil
}

func (f *Pipeline) IngestURL() string { return f.ingest.URL }

// MQTTURL is where they arrive.
func (f *Pipeline) MQTTURL() string { return "mqtt://" + f.broker.Addr().String() }

// CloseBroker closes the broker's port and its clients' connections. Copies may call it.
func (f *Pipeline) CloseBroker() {
	_ = f.broker.Close()
	f.Cut()
}

// CloseIngest closes the ingest.
func (f *Pipeline) CloseIngest() { f.ingest.Close() }

// Close ends everything, drops undelivered messages, and waits until all goroutines have ended. The error is
// the first packet that could not be parsed.
func (f *Pipeline) Close() error {
	close(f.done)
	f.ingest.CloseClientConnections()
	f.ingest.Close()
	_ = f.broker.Close()
	f.Cut()
	f.work.Wait()
	if f.Outlet != nil {
		f.Outlet.Close()
	}
	if f.Redis != nil {
		f.Redis.close()
	}
	if f.Traces != nil {
		f.Traces.close()
	}
	return f.failed
}

// Log lists the deliveries so far, in the order of the writes.
func (f *Pipeline) Log() []Delivery {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.log)
}

func (f *Pipeline) Requests() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests
}

// Frozen is when the freeze began; zero: it did not.
func (f *Pipeline) Frozen() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.frozen
}

// thaw is when the freeze ends; a moment in the past if there is none.
func (f *Pipeline) thaw() time.Time {
	if frozen := f.Frozen(); !frozen.IsZero() {
		return frozen.Add(f.Freeze.For)
	}
	return time.Time{}
}

// wait waits until the given time and the end of a freeze, whichever is later. It returns false if given closes first.
func (f *Pipeline) wait(given <-chan struct{}, until time.Time) bool {
	for {
		if thaw := f.thaw(); thaw.After(until) {
			until = thaw
		}
		left := time.Until(until)
		if left <= 0 {
			return true
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C: // a freeze may have begun meanwhile
		case <-given:
			timer.Stop()
			return false
		}
	}
}

func (f *Pipeline) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	received := time.Now()
	if err != nil {
		return // the sender gave up
	}
	nth, status, anyway := f.request(received)
	publish := func() {
		f.order.Lock()
		f.queue <- accepted{body: body, parent: r.Header.Get("Traceparent"), received: received, at: time.Now()}
		f.order.Unlock()
	}
	if anyway {
		publish()
	}
	if status == 0 {
		<-r.Context().Done()
		return
	}
	if !f.wait(r.Context().Done(), received) {
		return
	}
	if status == http.StatusAccepted && !anyway {
		publish()
	}
	if answer := valueFor(f.Answer, nth, 0); answer > 0 && !f.wait(r.Context().Done(), received.Add(answer)) {
		return
	}
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "status %d", status)
}

// request counts one and returns its number, its status, and whether it is published in any case.
func (f *Pipeline) request(at time.Time) (nth, status int, anyway bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests++
	if f.requests == f.Freeze.Nth {
		f.frozen = at
	}
	nth = f.requests
	return nth, valueFor(f.Status, nth, http.StatusAccepted), valueFor(f.Anyway, nth, false)
}

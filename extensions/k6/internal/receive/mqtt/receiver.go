package mqtt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
)

// receiver has the connections that hold the run's topics.
type receiver struct {
	*receive.Sessions
	*Options
	*run.Parts
	lines []*line
	gone  sync.Once
}

// Open connects, subscribes, and starts reading. It returns after the broker has confirmed every topic.
func (o *Options) Open(ctx context.Context, parts *run.Parts, sink *receive.Sink,
	m receive.Means) (receive.Receiver, error) {
	r := &receiver{Options: o, Parts: parts}
	filters := o.filters(r.Profile, r.Name)
	failures := make([]error, len(filters))
	var connecting sync.WaitGroup
	for i, topics := range filters {
		l := o.line(m.Network, r.Name, fmt.Sprintf("subscriber-%d", i+1), topics)
		l.options.URL = o.broker(i)
		l.options.Persistent = o.Session == persistentSession
		if prefix := o.Status; prefix != "" {
			l.options.Status = fmt.Sprintf("%s%s-%d", prefix, r.Name, i+1)
		}
		r.lines = append(r.lines, l)
		connecting.Go(func() { failures[i] = l.connect(ctx) })
	}
	connecting.Wait()
	var sessions []receive.Session
	for _, l := range r.lines {
		sessions = append(sessions, l)
	}
	err := cmp.Or(failures...)
	if err != nil {
		for _, session := range sessions {
			session.Close()
		}
		sessions = nil
	}
	taker := func(i int) *receive.Taker {
		connection := i
		if o.Topics == sharedTopics || o.brokers() > 1 {
			i = 0 // all these connections are one subscriber: a second copy is a duplicate
		}
		t := sink.Subscriber(i)
		if o.Filter == "" {
			t.Place = o.place(parts, r.lines[connection], connection)
		}
		return t
	}
	// Two clients with one id disconnect each other for ever. Mosquitto 2.0 does not report the cause, and MQTT 3.1.1
	// cannot.
	r.Sessions = receive.Hold(ctx, parts, m.Patience, sessions, taker, receive.Endings{
		Final:    func(err error) bool { return errors.Is(err, ErrTakenOver) },
		Question: "is another client using its id?",
	})
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Close ends the connections, and their sessions. It may be called more than once.
func (r *receiver) Close() {
	r.Sessions.Close()
	r.gone.Do(r.forget)
}

// forget ends the sessions that outlive their connections; a broker would keep queueing for them. In MQTT 5,
// DISCONNECT has ended them if the connection was still open.
func (r *receiver) forget() {
	if r.Session != persistentSession || (r.Options.Version == "5" && len(r.Gaps()) == 0) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	var forgetting sync.WaitGroup
	for _, l := range r.lines {
		if l.conn != nil {
			forgetting.Go(func() {
				if err := l.conn.Forget(ctx); err != nil {
					r.Count("delivery", "session left behind", err.Error())
				}
			})
		}
	}
	forgetting.Wait()
}

// Check pings all connections, and records a gap for each that does not answer: missing messages may have been
// in flight there.
func (r *receiver) Check() {
	var asking sync.WaitGroup
	for i, l := range r.lines {
		l.mu.Lock()
		conn := l.conn
		l.mu.Unlock()
		asking.Go(func() {
			last, err := conn.Answers(answering)
			if err != nil {
				r.Silent(i, last, err)
			}
		})
	}
	asking.Wait()
}

// answering is how long a broker may take to answer a ping on a busy machine.
const answering = 5 * time.Second

// farewell is how long the end of a run waits for the broker to remove its sessions.
const farewell = 5 * time.Second

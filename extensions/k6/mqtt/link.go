package mqtt

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"go.k6.io/k6/v2/js/modules"
)

// drainLimit is how long end() waits for calls in flight.
const drainLimit = 5 * time.Second

var (
	errNotConnected = errors.New("not connected: call connect() first, or reconnect() after the connection was lost")
	errEnded        = errors.New("the client was ended before the call was done")
)

// link is a client's side of one connection, and ends with it. It never touches the JavaScript runtime.
type link struct {
	ctx    context.Context // the context of the iteration that connected
	client *client         // its loop and its event handlers
	wire   *wire
	limit  time.Duration // how long a call may take
	logger logrus.FieldLogger

	ending sync.Once
	over   chan struct{} // closed when the connection is over; cause is set before
	cause  error

	mu       sync.Mutex    // guards the next two fields
	inFlight int           // calls submitted and not done
	idle     chan struct{} // closed when inFlight gets to 0; nil while nobody waits

	stopWatching func() bool // stops watching the context
	closing      bool        // event loop only: no more calls are taken
	finished     bool        // event loop only: the end was handled
	undelivered  int         // event loop only: messages an aborted iteration left
	late         atomic.Bool // a message came after the end and was reported
}

// arrived implements listener: it queues a message for the script.
func (l *link) arrived(m *incoming) {
	queued := l.client.loop.post(func() error { return l.client.message(l, m) })
	if !queued && !l.late.Swap(true) {
		l.logger.Warnf("MQTT: a message on %q came after the client had ended and was dropped", m.topic)
	}
}

// lost implements listener.
func (l *link) lost(err error) {
	if l.end(fmt.Errorf("connection lost: %w: call reconnect() to go on", err)) {
		<-l.whenIdle() // scripts see the failed calls before the loss
		l.client.loop.post(func() error { return l.client.finish(l, true) })
	}
}

func (l *link) open() bool {
	select {
	case <-l.over:
		return false
	default:
		return true
	}
}

// submit queues a call for writing; await and done must follow, unless it returns an error.
func (l *link) submit(c *call) error {
	l.mu.Lock()
	l.inFlight++
	l.mu.Unlock()
	err := l.wire.submit(c)
	if err != nil {
		l.done()
	}
	return err
}

// done ends a call, after its outcome was posted.
func (l *link) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inFlight--; l.inFlight == 0 && l.idle != nil {
		close(l.idle)
		l.idle = nil
	}
}

// whenIdle returns a channel that is closed when no call is in flight.
func (l *link) whenIdle() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	idle := l.idle
	if idle == nil {
		idle = make(chan struct{})
		if l.inFlight > 0 {
			l.idle = idle
		} else {
			close(idle)
		}
	}
	return idle
}

// await blocks until the broker has answered, request_timeout has passed, or the connection is over.
func (l *link) await(c *call) error {
	limit := time.NewTimer(l.limit)
	defer limit.Stop()
	select {
	case err := <-c.outcome:
		return err
	case <-limit.C:
		return l.wire.giveUp(c, l.limit)
	case <-l.over:
	}
	select {
	case err := <-c.outcome: // the answer came together with the end of the connection
		return err
	default:
		return l.cause
	}
}

// end marks the connection over and reports whether this call did it.
func (l *link) end(cause error) bool {
	first := false
	l.ending.Do(func() {
		first = true
		l.cause = cause
		close(l.over)
	})
	return first
}

// shut lets calls in flight finish, then disconnects. It returns when the network connection is closed and every
// message that was read is queued.
func (l *link) shut() {
	limit := time.NewTimer(drainLimit)
	defer limit.Stop()
	select {
	case <-l.whenIdle():
	case <-l.over:
	case <-limit.C:
	}
	l.abort(errEnded)
}

// abort ends the connection without waiting for calls in flight and reports whether this call ended it.
func (l *link) abort(cause error) bool {
	first := l.end(cause)
	if first {
		l.wire.disconnect()
	} else {
		<-l.wire.done
		<-l.whenIdle()
	}
	return first
}

// loop runs tasks from any goroutine on the VU's event loop, in the order they were posted. It runs one task per turn,
// so that timers and other clients get theirs. The iteration doesn't end while something holds the loop.
type loop struct {
	vu modules.VU

	mu    sync.Mutex
	tasks []func() error
	holds int
	// wake is a registered callback that hasn't been handed to the event loop; nil while a turn is scheduled.
	wake      func(func() error)
	scheduled bool
}

// hold keeps the event loop alive until release. Event loop only.
func (l *loop) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holds++
	l.arm()
}

// release undoes one hold. Tasks already posted still run. Event loop only.
func (l *loop) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holds--
	if l.holds == 0 && l.wake != nil {
		l.wake(func() error { return nil })
		l.wake = nil
	}
}

func (l *loop) arm() {
	if l.wake == nil && !l.scheduled {
		l.wake = l.vu.RegisterCallback()
	}
}

// post queues a task. It returns false if nothing holds the loop, so the task won't run. Any goroutine.
func (l *loop) post(task func() error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holds == 0 {
		return false
	}
	l.tasks = append(l.tasks, task)
	if l.wake != nil {
		wake := l.wake
		l.wake, l.scheduled = nil, true
		wake(l.turn)
	}
	return true
}

// turn runs the oldest task and schedules the next turn first: the task may throw.
func (l *loop) turn() error {
	l.mu.Lock()
	l.scheduled = false
	task := l.pop()
	if len(l.tasks) > 0 {
		l.scheduled = true
		l.vu.RegisterCallback()(l.turn)
	} else if l.holds > 0 {
		l.arm()
	}
	l.mu.Unlock()
	if task == nil {
		return nil
	}
	return task()
}

// pop returns nil when there is no task: drain may have run it before its turn came.
func (l *loop) pop() func() error {
	if len(l.tasks) == 0 {
		return nil
	}
	task := l.tasks[0]
	l.tasks[0] = nil
	l.tasks = l.tasks[1:]
	return task
}

// drain runs all tasks now and returns the first error. Event loop only.
func (l *loop) drain() error {
	var first error
	for {
		l.mu.Lock()
		task := l.pop()
		l.mu.Unlock()
		if task == nil {
			return first
		}
		if err := task(); err != nil && first == nil {
			first = err
		}
	}
}

// waiting reports whether tasks wait for their turn.
func (l *loop) waiting() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.tasks) > 0
}

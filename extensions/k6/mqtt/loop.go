package mqtt

import (
	"sync"

	"go.k6.io/k6/v2/js/modules"
)

// loop brings tasks from any goroutine to the VU's event loop, in the order they were posted, one in each turn so that
// timers and other clients get theirs. While something holds it the iteration doesn't end.
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

// post queues a task and reports whether it will run: not when nothing holds the loop. Any goroutine.
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

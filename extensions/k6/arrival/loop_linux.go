package arrival

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"go.k6.io/k6/v2/lib"
	"golang.org/x/sys/unix"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
)

// loop sends for all pumps of a run: one goroutine that waits for all of their connections at once. A goroutine for each connection
// was parked and found again for each answer, which took as much CPU as to write the request. What is not plain is lent to a
// goroutine all the same: a new connection, a request that the socket does not take at once, an answer in pieces.
type loop struct {
	engine *engine
	ctx    context.Context // ends with the first VU's
	stop   context.CancelFunc
	epoll  int
	bell   int // wakes it for a lane that comes

	lanes []*lane // by their numbers
	idle  []*lane // without a request; the one that had the last one goes first
	over  bool    // no more requests are to be taken

	next  pacer.Slot
	due   time.Time     // of next; zero: there is none
	wait  time.Duration // for an event, at most
	swept time.Time

	mu     sync.Mutex
	coming []*lane // new ones, and those that were lent
	begun  bool
	ended  bool
}

// bellNumber is that of no lane.
const bellNumber = -1

// sweepEvery is how often the loop looks for requests that have had no answer in time, and whether it is to stop.
const sweepEvery = 20 * time.Millisecond

// newLoop returns nil where the system refuses it.
func newLoop(e *engine) *loop {
	l := &loop{engine: e}
	var failed [4]error
	l.epoll, failed[0] = unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	l.bell, failed[1] = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	// An edge: what it counts is not read.
	failed[2] = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, l.bell, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: bellNumber})
	_, failed[3] = epollWait(l.epoll, make([]unix.EpollEvent, 1), 0)
	if errors.Join(failed[:]...) != nil {
		l.close()
		return nil
	}
	l.ctx, l.stop = context.WithCancel(context.Background())
	return l
}

func (l *loop) close() {
	_ = unix.Close(l.epoll)
	_ = unix.Close(l.bell)
}

// pump has the loop send over as many connections as a VU may have requests in flight, and waits until the schedule is empty.
func (l *loop) pump(ctx context.Context, state *lib.State) {
	select {
	case <-l.engine.started:
	case <-ctx.Done():
		return
	}
	defer context.AfterFunc(ctx, l.stop)()
	var done sync.WaitGroup
	for range l.engine.options.InFlight {
		done.Add(1)
		n := &lane{sender: newSender(l.engine, state), loop: l, ctx: ctx, done: done.Done, fd: -1, number: -1, buffer: make([]byte, headerMost)}
		if !l.welcome(n) {
			return // this late the schedule is empty
		}
	}
	done.Wait()
}

// welcome takes in a lane; false: the loop has ended.
func (l *loop) welcome(n *lane) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.coming = append(l.coming, n)
	if !l.begun {
		l.begun = true
		go l.run()
	}
	_, _ = unix.Write(l.bell, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // full: it rings already
	return true
}

func (l *loop) run() {
	// It waits in a system call, which keeps a processor of the runtime from the others for up to 10 ms. So they get one more.
	addProcessors(1)
	defer addProcessors(-1)
	defer l.close()
	// A thread of its own, which ends with it: the kernel would have it sleep for up to 50 µs longer than it is told (timer slack).
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // ns
	events := make([]unix.EpollEvent, 128)
	for {
		l.takeIn()
		l.send()
		if l.end() {
			return
		}
		n, _ := epollWait(l.epoll, events, l.wait)
		for _, event := range events[:n] {
			if event.Fd != bellNumber {
				l.lanes[event.Fd].read()
			}
		}
		l.sweep(time.Now())
	}
}

// takeIn lets the lanes work that have come.
func (l *loop) takeIn() {
	l.mu.Lock()
	coming := l.coming
	l.coming = nil
	l.mu.Unlock()
	for _, n := range coming {
		if n.number < 0 {
			n.number = len(l.lanes)
			l.lanes = append(l.lanes, n)
		}
		n.detach()
		l.idle = append(l.idle, n)
	}
}

// send sends what is due, as long as there is an idle lane for it.
func (l *loop) send() {
	l.wait = sweepEvery
	for len(l.idle) > 0 && !l.over {
		if l.due.IsZero() {
			var ok bool
			if l.next, l.due, ok = l.engine.draw(l.ctx); !ok {
				l.over = true
				return
			}
		}
		if l.over = l.ctx.Err() != nil || l.engine.isHalted(); l.over {
			l.engine.leave(l.next)
			return
		}
		now := time.Now()
		if now.Before(l.due) {
			l.wait = min(sweepEvery, max(l.due.Sub(now), atOnce))
			return
		}
		last := len(l.idle) - 1
		n := l.idle[last]
		l.idle = l.idle[:last]
		l.due = time.Time{}
		n.send(l.next)
	}
}

// sweep ends requests that have had no answer in time.
func (l *loop) sweep(now time.Time) {
	if now.Sub(l.swept) < sweepEvery {
		return
	}
	l.swept = now
	for _, n := range l.lanes {
		if n.fd >= 0 && n.busy && now.Sub(n.sent) >= n.timeout {
			n.settle(n.fail(os.ErrDeadlineExceeded))
		}
	}
}

// end ends the loop when it has nothing to do any more.
func (l *loop) end() bool {
	if !l.over || len(l.idle) < len(l.lanes) {
		return false
	}
	l.mu.Lock()
	l.ended = len(l.coming) == 0
	l.mu.Unlock()
	if l.ended {
		l.stop()
		for _, n := range l.lanes {
			n.drop()
			n.done()
		}
	}
	return l.ended
}

var processors sync.Mutex

// addProcessors changes how many threads the runtime lets work at a time.
func addProcessors(n int) {
	processors.Lock()
	defer processors.Unlock()
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + n)
}

// epollWait waits for events, or until a time is over, or for a signal. Timers that wake a thread by themselves, as a timerfd does, took
// a system call more for each wait. epoll_pwait2(2) is there from Linux 5.11 on.
func epollWait(epoll int, events []unix.EpollEvent, most time.Duration) (int, error) {
	wait := [2]int64{int64(most / time.Second), int64(most % time.Second)} // a __kernel_timespec on every architecture
	n, _, err := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(epoll), uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)),
		uintptr(unsafe.Pointer(&wait)), 0, 0)
	if err != 0 {
		return 0, err
	}
	return int(n), nil
}

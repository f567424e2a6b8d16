package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
)

// process is a program that the bench started and will stop.
type process struct {
	name  string
	pid   int
	done  chan struct{} // closed when the process has ended
	err   error         // of Wait; valid after done
	tail  *tail
	child *exec.Cmd

	report string // run.json of a k6
	pprof  string // URL of the CPU profile; empty: write none
}

// tail keeps the end of a process's output. It is read after the process has ended.
type tail []byte

const tailSize = 4096

func (t *tail) Write(b []byte) (int, error) {
	*t = append(*t, b...)
	*t = (*t)[max(0, len(*t)-tailSize):]
	return len(b), nil
}

func (t *tail) String() string { return strings.TrimSpace(string(*t)) }

// start starts a program with additional environment variables. The bench stops it at the end of the row.
func (b *bench) start(name string, env []string, program string, args ...string) *process {
	p := &process{name: name, done: make(chan struct{}), tail: &tail{}}
	p.child = exec.Command(program, args...)
	p.child.Dir = b.root
	p.child.Env = append(os.Environ(), env...)
	p.child.Stdout, p.child.Stderr = p.tail, p.tail
	// Its own process group keeps Ctrl-C from it: the bench stops processes in order.
	p.child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.child.Start(); err != nil {
		must.Fail("%s can't be started: %w (npm run setup -- --bench installs what is needed)", name, err)
	}
	p.pid = p.child.Process.Pid
	b.children = append(b.children, p)
	b.updateWatchdog()
	go func() {
		p.err = p.child.Wait()
		close(p.done)
	}()
	return p
}

func (b *bench) node(name, script string, env ...string) *process {
	return b.start(name, env, filepath.Join(b.root, "node_modules/.bin/node"), script)
}

// failure is the error of a process that ended too early.
func (p *process) failure() error {
	how := "ended too early"
	if p.err != nil {
		how = p.err.Error()
	}
	return fmt.Errorf("%s: %s\n%s", p.name, how, p.tail)
}

// wait waits for the end of the process. It returns an error for other exit codes than 0 and codes.
func (p *process) wait(ctx context.Context, codes ...int) error {
	select {
	case <-p.done:
		if p.err != nil && !slices.Contains(codes, p.child.ProcessState.ExitCode()) {
			return p.failure()
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// endsWithin waits up to d for the end of the process, and reports whether it or ctx ended.
func (p *process) endsWithin(ctx context.Context, d time.Duration) bool {
	select {
	case <-p.done:
	case <-ctx.Done():
	case <-time.After(d):
		return false
	}
	return true
}

// patience is how long a process may take to end after SIGTERM: the stack stops six others in order.
const patience = 20 * time.Second

func (p *process) stop() {
	_ = p.child.Process.Signal(syscall.SIGTERM) // it may have ended
	if !p.endsWithin(context.Background(), patience) {
		p.kill()
	}
}

func (p *process) kill() {
	_ = p.child.Process.Kill()
	<-p.done
}

// stopAll closes what the row opened in this process, then stops its processes, the latest first.
func (b *bench) stopAll() {
	for _, end := range slices.Backward(b.closers) {
		end()
	}
	for _, p := range slices.Backward(b.children) {
		p.stop()
	}
	b.children, b.closers = nil, nil
	b.updateWatchdog()
}

// updateWatchdog writes the processes' ids to the pipeline's watchdog, which stops them if the bench is killed.
func (b *bench) updateWatchdog() {
	if b.watchdog == nil {
		watchdog := exec.Command("/bin/sh", filepath.Join(b.root, "pipeline/stack/leash.sh"))
		watchdog.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		pipe, err := watchdog.StdinPipe()
		if err == nil {
			err = watchdog.Start()
		}
		if err != nil {
			return
		}
		b.watchdog = pipe
		b.stopWatchdog = func() { _ = pipe.Close(); _ = watchdog.Wait() }
	}
	pids := make([]string, 0, len(b.children))
	for _, p := range b.children {
		pids = append(pids, fmt.Sprint(p.pid))
	}
	_, _ = io.WriteString(b.watchdog, strings.Join(pids, " ")+"\n")
}

type bench struct {
	settings
	ctx          context.Context
	root         string // of the repository
	dir          string // temporary
	row          string // that is being measured
	children     []*process
	closers      []func() // of what the row runs in this process
	watchdog     io.Writer
	stopWatchdog func()
}

func newBench(ctx context.Context, s settings) *bench {
	root := must.Get(os.Getwd())
	if s.profiles != "" {
		must.Do(os.MkdirAll(s.profiles, 0o700))
	}
	dir := must.Get(os.MkdirTemp(filepath.Join(root, ".stack"), "bench-"))
	// A build during the bench does not replace this binary.
	if err := os.Link(filepath.Join(root, "k6"), filepath.Join(dir, "k6")); err != nil {
		must.Fail("there is no ./k6 here: npm run bench, in the repository's root, builds it (%w)", err)
	}
	return &bench{settings: s, ctx: ctx, root: root, dir: dir, stopWatchdog: func() {}}
}

func (b *bench) close() {
	b.stopAll()
	b.stopWatchdog()
	_ = os.RemoveAll(b.dir)
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench  %-12s%s\n", b.row, fmt.Sprintf(format, args...))
}

// listen opens a free port until the end of the row.
func (b *bench) listen() net.Listener {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))
	b.closers = append(b.closers, func() { _ = l.Close() })
	return l
}

// freeAddress returns an address on which nobody listens.
func freeAddress() string {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))
	must.Do(l.Close())
	return l.Addr().String()
}

// sleep waits. It fails if the bench is stopped or one of the processes ends.
func (b *bench) sleep(d time.Duration, watched ...*process) {
	select {
	case <-time.After(d):
	case <-b.ctx.Done():
		must.Do(b.ctx.Err())
	}
	for _, p := range watched {
		select {
		case <-p.done:
			must.Do(p.failure())
		default:
		}
	}
}

const readyWithin = 10 * time.Second

// waitUntil polls until holds returns true.
func (b *bench) waitUntil(what string, within time.Duration, holds func() bool, watched ...*process) {
	for deadline := time.Now().Add(within); !holds(); b.sleep(20*time.Millisecond, watched...) {
		if time.Now().After(deadline) {
			must.Fail("%s did not come about within %s", what, within)
		}
	}
}

func (b *bench) get(url string) (status int, body []byte, err error) {
	request, err := http.NewRequestWithContext(b.ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err = io.ReadAll(answer.Body)
	return answer.StatusCode, body, err
}

// fetchCount reads /count of one of the bench's own servers.
func (b *bench) fetchCount(url string) (int64, error) {
	var answer struct{ Count int64 }
	_, body, err := b.get(url + "/count")
	if err == nil {
		err = json.Unmarshal(body, &answer)
	}
	return answer.Count, err
}

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

// process is a program that the bench started, and stops.
type process struct {
	name  string
	pid   int
	done  chan struct{} // closed when it has ended
	err   error         // how; valid after done
	tail  *tail
	child *exec.Cmd

	report string // of a run of k6: its run.json
	pprof  string // where its CPU profile is; empty: none is wanted
}

// tail keeps the last of what a process prints, for the case that it fails. It is read when the process has ended.
type tail []byte

const tailSize = 4096

func (t *tail) Write(b []byte) (int, error) {
	*t = append(*t, b...)
	*t = (*t)[max(0, len(*t)-tailSize):]
	return len(b), nil
}

func (t *tail) String() string { return strings.TrimSpace(string(*t)) }

// start starts a program with more environment variables. It is stopped at the end of the row at the latest.
func (b *bench) start(name string, env []string, program string, args ...string) *process {
	p := &process{name: name, done: make(chan struct{}), tail: &tail{}}
	p.child = exec.Command(program, args...)
	p.child.Dir = b.root
	p.child.Env = append(os.Environ(), env...)
	p.child.Stdout, p.child.Stderr = p.tail, p.tail
	// A group of its own: Ctrl-C is for us alone, who stop in order.
	p.child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.child.Start(); err != nil {
		must.Fail("%s can't be started: %w (npm run setup -- --bench installs what is needed)", name, err)
	}
	p.pid = p.child.Process.Pid
	b.children = append(b.children, p)
	b.leash()
	go func() {
		p.err = p.child.Wait()
		close(p.done)
	}()
	return p
}

func (b *bench) node(name, script string, env ...string) *process {
	return b.start(name, env, filepath.Join(b.root, "node_modules/.bin/node"), script)
}

// failure says how a process ended that should not have.
func (p *process) failure() error {
	how := "ended too early"
	if p.err != nil {
		how = p.err.Error()
	}
	return fmt.Errorf("%s: %s\n%s", p.name, how, p.tail)
}

// wait returns when the process has ended by itself. Exit codes but 0 are failures if they are not named.
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

// endsWithin waits for the end of a process, or of all waiting, for so long.
func (p *process) endsWithin(ctx context.Context, d time.Duration) bool {
	select {
	case <-p.done:
	case <-ctx.Done():
	case <-time.After(d):
		return false
	}
	return true
}

// patience is how long a process may take to end on a signal: the stack stops six others in order.
const patience = 20 * time.Second

func (p *process) stop() {
	_ = p.child.Process.Signal(syscall.SIGTERM) // it may have ended
	if !p.endsWithin(context.Background(), patience) {
		p.kill()
	}
}

// kill ends a process whose last words nobody needs.
func (p *process) kill() {
	_ = p.child.Process.Kill()
	<-p.done
}

// stopAll closes what runs in this process and stops what was started, the latest first.
func (b *bench) stopAll() {
	for _, end := range slices.Backward(b.closers) {
		end()
	}
	for _, p := range slices.Backward(b.children) {
		p.stop()
	}
	b.children, b.closers = nil, nil
	b.leash()
}

// leash tells the watchdog what to stop when the bench itself is killed: the pipeline's own one, which reads pids from a pipe.
func (b *bench) leash() {
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
		b.unleash = func() { _ = pipe.Close(); _ = watchdog.Wait() }
	}
	pids := make([]string, 0, len(b.children))
	for _, p := range b.children {
		pids = append(pids, fmt.Sprint(p.pid))
	}
	_, _ = io.WriteString(b.watchdog, strings.Join(pids, " ")+"\n")
}

type bench struct {
	settings
	ctx      context.Context // its end is that of the bench
	root     string          // of the repository
	dir      string          // for the time being
	row      string
	children []*process
	closers  []func() // what the row runs in this process
	watchdog io.Writer
	unleash  func()
}

func newBench(ctx context.Context, s settings) *bench {
	root := must.Get(os.Getwd())
	if s.profiles != "" {
		must.Do(os.MkdirAll(s.profiles, 0o700))
	}
	dir := must.Get(os.MkdirTemp(filepath.Join(root, ".stack"), "bench-"))
	// The same binary until the end, whatever is built meanwhile.
	if err := os.Link(filepath.Join(root, "k6"), filepath.Join(dir, "k6")); err != nil {
		must.Fail("there is no ./k6 here: npm run bench, in the repository's root, builds it (%w)", err)
	}
	return &bench{settings: s, ctx: ctx, root: root, dir: dir, unleash: func() {}}
}

func (b *bench) close() {
	b.stopAll()
	b.unleash()
	_ = os.RemoveAll(b.dir)
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench  %-12s%s\n", b.row, fmt.Sprintf(format, args...))
}

// closing has something of this process closed at the end of the row.
func (b *bench) closing(c io.Closer) { b.closers = append(b.closers, func() { _ = c.Close() }) }

// listen opens a free port until the row is over.
func (b *bench) listen() net.Listener {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))
	b.closing(l)
	return l
}

// freeAddress is one on which nobody listens.
func freeAddress() string {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))
	must.Do(l.Close())
	return l.Addr().String()
}

// sleep waits, and gives up when the bench is stopped or one of the processes ends.
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

// eventually asks again and again until the answer is yes.
func (b *bench) eventually(what string, within time.Duration, holds func() bool, watched ...*process) {
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

// counted asks a server of the bench's for the count of its /count.
func (b *bench) counted(url string) (int64, error) {
	var answer struct{ Count int64 }
	_, body, err := b.get(url + "/count")
	if err == nil {
		err = json.Unmarshal(body, &answer)
	}
	return answer.Count, err
}

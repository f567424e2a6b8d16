package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a program that the bench started, and stops.
type process struct {
	name  string
	pid   int
	done  chan struct{} // closed when it has ended
	err   error         // how; valid after done
	tail  *tail
	child *exec.Cmd
	pprof string // where its CPU profile is; empty: none is wanted
}

// tail keeps the last of what a process prints, for the case that it fails.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailSize = 4096

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if len(t.text) > tailSize {
		t.text = append(t.text[:0], t.text[len(t.text)-tailSize:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.text))
}

// start starts a program with more environment variables. It is stopped at the end of the row at the latest.
func (b *bench) start(name string, env []string, program string, args ...string) (*process, error) {
	p := &process{name: name, done: make(chan struct{}), tail: &tail{}}
	p.child = exec.Command(program, args...)
	p.child.Dir = b.root
	p.child.Env = append(os.Environ(), env...)
	p.child.Stdout, p.child.Stderr = p.tail, p.tail
	// A group of its own: Ctrl-C is for us alone, who stop in order.
	p.child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.child.Start(); err != nil {
		return nil, fmt.Errorf("%s can't be started: %w (npm run setup -- --bench installs what is needed)", name, err)
	}
	p.pid = p.child.Process.Pid
	b.children = append(b.children, p)
	b.leash()
	go func() {
		p.err = p.child.Wait()
		close(p.done)
	}()
	return p, nil
}

// failure says how a process ended that should not have.
func (p *process) failure() error {
	how := "ended too early"
	if p.err != nil {
		how = p.err.Error()
	}
	return fmt.Errorf("%s: %s\n%s", p.name, how, p.tail)
}

// wait returns when the process has ended by itself.
func (p *process) wait(ctx context.Context) error {
	select {
	case <-p.done:
		if p.err != nil {
			return p.failure()
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// patience is how long a process gets to end when it is told to: the stack stops six others in order.
const patience = 20 * time.Second

func (p *process) stop() {
	_ = p.child.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.done:
	case <-time.After(patience):
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
	for i := len(b.closers) - 1; i >= 0; i-- {
		b.closers[i]()
	}
	for i := len(b.children) - 1; i >= 0; i-- {
		b.children[i].stop()
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

// sleep waits, and fails when ctx ends or a process does.
func sleep(ctx context.Context, d time.Duration, watched ...*process) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, p := range watched {
		select {
		case <-p.done:
			return p.failure()
		default:
		}
	}
	return nil
}

// eventually asks again and again until the answer is yes.
func eventually(ctx context.Context, what string, within time.Duration, holds func() bool, watched ...*process) error {
	deadline := time.Now().Add(within)
	for !holds() {
		if time.Now().After(deadline) {
			return errors.New(what + " did not come about within " + within.String())
		}
		if err := sleep(ctx, 20*time.Millisecond, watched...); err != nil {
			return err
		}
	}
	return nil
}

// get asks a process over HTTP. Who gets an answer closes its body.
func get(ctx context.Context, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(request)
}

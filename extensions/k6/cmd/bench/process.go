package main

import (
	"context"
	"fmt"
	"io"
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

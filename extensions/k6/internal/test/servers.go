package test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Process is a program that a test started. It is stopped at the end of the test.
type Process struct {
	PID int
	// Addresses are host:port of each listener of a server.
	Addresses []string
	Done      chan struct{} // closed when the process has ended

	command *exec.Cmd
	err     error // returned by Wait; valid after Done
	output  tail
}

// tail keeps the end of a process's output. It is read after the process has ended.
type tail []byte

func (t *tail) Write(b []byte) (int, error) {
	const most = 4096
	*t = append(*t, b...)
	*t = (*t)[max(0, len(*t)-most):]
	return len(b), nil
}

// StartProcess starts a program in a process group of its own, so that Ctrl-C reaches the test alone.
func StartProcess(t testing.TB, command *exec.Cmd) *Process {
	t.Helper()
	p := &Process{Done: make(chan struct{}), command: command}
	command.Stdout, command.Stderr = &p.output, &p.output
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, command.Start(), "`npm test` installs what is missing, or prints how to")
	p.PID = command.Process.Pid
	leash.hold(p.PID, true)
	go func() {
		p.err = command.Wait()
		leash.hold(p.PID, false)
		close(p.Done)
	}()
	t.Cleanup(p.Stop)
	return p
}

// Address is the address of a server's first listener.
func (p *Process) Address() string { return p.Addresses[0] }

// Stop ends the process with SIGTERM. It is killed if that takes longer than a stack needs to stop its processes.
func (p *Process) Stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.Done:
	case <-time.After(20 * time.Second):
		p.Kill()
	}
}

// Kill ends the process with SIGKILL.
func (p *Process) Kill() {
	_ = p.command.Process.Kill()
	<-p.Done
}

// Wait waits for the end of the process. It returns an error for exit codes other than 0 and codes.
func (p *Process) Wait(ctx context.Context, codes ...int) error {
	select {
	case <-p.Done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if p.err == nil || slices.Contains(codes, p.State().ExitCode()) {
		return nil
	}
	return p.Failure()
}

// Failure describes how the process ended, with the end of its output. It is valid after Done.
func (p *Process) Failure() error {
	how := "ended too early"
	if p.err != nil {
		how = p.err.Error()
	}
	return fmt.Errorf("%s: %s\n%s", filepath.Base(p.command.Path), how, strings.TrimSpace(string(p.output)))
}

// State is how the process ended. It is valid after Done.
func (p *Process) State() *os.ProcessState { return p.command.ProcessState }

// leash stops the processes if this one is killed: a shell reads their ids, and stops them when its input ends.
var leash watchdog

type watchdog struct {
	mu    sync.Mutex
	pids  map[int]bool
	shell io.Writer
}

func (w *watchdog) hold(pid int, hold bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shell == nil {
		_, here, _, _ := runtime.Caller(0)
		shell := exec.Command("/bin/sh", filepath.Join(filepath.Dir(here), "../../../../pipeline/stack/leash.sh"))
		shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		pipe, err := shell.StdinPipe()
		if err != nil || shell.Start() != nil {
			return
		}
		w.shell, w.pids = pipe, map[int]bool{}
	}
	if w.pids[pid] = true; !hold {
		delete(w.pids, pid)
	}
	line := ""
	for pid := range w.pids {
		line += fmt.Sprint(pid, " ")
	}
	_, _ = io.WriteString(w.shell, line+"\n")
}

// FreeAddress returns an address of 127.0.0.1 where nothing listens.
func FreeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}

// Server starts a server on a free port, and returns once it accepts connections. It is killed at the end of the test.
func Server(t testing.TB, command func(port string) *exec.Cmd) *Process {
	t.Helper()
	return serve(t, 1, func(ports []string) *exec.Cmd { return command(ports[0]) })
}

// serve starts a server on free ports.
func serve(t testing.TB, listeners int, command func(ports []string) *exec.Cmd) *Process {
	t.Helper()
	var p *Process
	for range 5 { // another process may take a port before the server does
		var addresses, ports []string
		for range listeners {
			address := FreeAddress(t)
			_, port, err := net.SplitHostPort(address)
			require.NoError(t, err)
			addresses, ports = append(addresses, address), append(ports, port)
		}
		p = StartProcess(t, command(ports))
		t.Cleanup(p.Kill)
		p.Addresses = addresses
		if !slices.ContainsFunc(addresses, func(address string) bool { return !p.accepts(address) }) {
			return p
		}
	}
	require.FailNow(t, "the server did not start", p.Failure())
	return nil
}

// accepts waits until the server accepts connections. It returns false if the server ends first.
func (p *Process) accepts(address string) bool {
	for {
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			return true
		}
		select {
		case <-p.Done:
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Redis starts a Redis for the test and returns its URL.
func Redis(t testing.TB) string {
	t.Helper()
	return "redis://" + StartRedis(t).Address()
}

// StartRedis starts a Redis that writes nothing to disk.
func StartRedis(t testing.TB) *Process {
	t.Helper()
	program, dir := Program(t, "redis-server"), t.TempDir()
	return Server(t, func(port string) *exec.Cmd {
		return exec.Command(program, "--bind", "127.0.0.1", "--port", port, "--save", "", "--dir", dir)
	})
}

// Anyone are the lines of a listener of Mosquitto that accepts clients without credentials.
const Anyone = "allow_anonymous true"

// StartMosquitto starts a Mosquitto with general settings, and a listener for each further argument: the lines that
// configure it. Its queues have no limit, so it drops no message of a slow subscriber.
func StartMosquitto(t testing.TB, settings []string, listeners ...string) *Process {
	t.Helper()
	me, err := user.Current()
	require.NoError(t, err)
	program, path := Program(t, "mosquitto"), filepath.Join(t.TempDir(), "mosquitto.conf")
	return serve(t, len(listeners), func(ports []string) *exec.Cmd {
		lines := append([]string{
			"user " + me.Username, // a Mosquitto started by root switches to a user who can't read the test's files
			"persistence false", "log_dest stderr", "set_tcp_nodelay true",
			"max_inflight_messages 0", "max_queued_messages 0", "max_queued_bytes 0",
		}, settings...)
		for i, port := range ports {
			lines = append(lines, "listener "+port+" 127.0.0.1", listeners[i])
		}
		require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
		return exec.Command(program, "-c", path)
	})
}

// Program returns the path of a server's program, which may be in a daemon directory outside PATH.
func Program(t testing.TB, name string) string {
	t.Helper()
	for _, dir := range []string{"", "/usr/sbin", "/usr/local/sbin", "/opt/homebrew/sbin"} {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	require.FailNow(t, name+" is not installed: `npm test` installs it or prints how to")
	return ""
}

package test

import (
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Redis starts a real Redis of the test's own and returns its address.
func Redis(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	return "redis://" + Server(t, func(port string) *exec.Cmd {
		return exec.Command(Program(t, "redis-server"), "--bind", "127.0.0.1", "--port", port, "--save", "", "--dir", dir)
	})
}

// Program finds a server's program, also for users whose PATH lacks the directories of daemons.
func Program(t *testing.T, name string) string {
	t.Helper()
	for _, dir := range []string{"", "/usr/sbin", "/usr/local/sbin", "/opt/homebrew/sbin"} {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	require.FailNow(t, name+" is not installed: `npm test` installs it, or says what to type")
	return ""
}

// Server starts a server on a free port, ends it with the test, and returns its address once it takes connections.
func Server(t *testing.T, command func(port string) *exec.Cmd) (address string) {
	t.Helper()
	for range 5 { // another process may take the port before the server does
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		address = listener.Addr().String()
		_, port, err := net.SplitHostPort(address)
		require.NoError(t, err)
		require.NoError(t, listener.Close())
		server := command(port)
		require.NoError(t, server.Start())
		ended := make(chan struct{})
		go func() {
			_ = server.Wait()
			close(ended)
		}()
		t.Cleanup(func() {
			_ = server.Process.Kill()
			<-ended
		})
		if answers(address, ended) {
			return address
		}
	}
	require.Fail(t, "the server did not start")
	return ""
}

// answers waits until the server accepts connections; false if it has ended.
func answers(address string, ended <-chan struct{}) bool {
	for {
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			return true
		}
		select {
		case <-ended:
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
}

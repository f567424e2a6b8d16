package arrival

import (
	"net"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
)

// The password went over the wire as it is: go-redis leaves TLS to the dialer, and the dialer is k6's.
func TestRedissIsEncrypted(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	first := make(chan byte, 1)
	go func() {
		for { // the client tries again
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			b := make([]byte, 1)
			_, _ = conn.Read(b)
			select {
			case first <- b[0]:
			default:
			}
			_ = conn.Close()
		}
	}()
	s := newScript(t, &fake.Pipeline{}, twenty, "redis: { url: 'rediss://user:hunter2@"+listener.Addr().String()+"' }")
	_, err = s.module.root.engine.connectRedis(t.Context(), s.state)
	require.Error(t, err)
	const handshake = 22 // content type of TLS
	assert.Equal(t, byte(handshake), <-first)
}

func TestAddressesOfACluster(t *testing.T) {
	t.Parallel()
	first, nodes, err := parseRedis("redis://reader:a%2Cb@one:7001,two:7002,three/0")
	require.NoError(t, err)
	assert.Equal(t, []string{"one:7001", "two:7002", "three:6379"}, nodes)
	assert.Equal(t, []string{"one:7001", "reader", "a,b"}, []string{first.Addr, first.Username, first.Password})
	for _, address := range []string{"redis://one:7001,two:x", "http://one:7001"} {
		_, _, err := parseRedis(address)
		assert.Error(t, err, address)
	}
}

// startRedis starts a real Redis of the test's own and returns its address.
func startRedis(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	return "redis://" + startServer(t, func(port string) *exec.Cmd {
		return exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--dir", dir)
	})
}

// startServer starts a server on a free port, ends it with the test, and returns its address once it takes connections.
func startServer(t *testing.T, command func(port string) *exec.Cmd) (address string) {
	t.Helper()
	for range 5 { // somebody else may take the port between the look and the start
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

// answers waits until somebody takes connections; false when the server has ended before.
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

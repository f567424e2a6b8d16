package network

import (
	"context"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// swallow opens a server on loopback that accepts nothing, and fills its backlog: the kernel drops further SYNs.
func swallow(t *testing.T, port string) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, syscall.Close(fd)) })
	// As Go's own servers: a client's connection may have the port, too.
	require.NoError(t, syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1))
	number, err := strconv.Atoi(port)
	require.NoError(t, err)
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Port: number, Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, syscall.Listen(fd, 0))
	for range 16 {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", "127.0.0.1:"+port)
		cancel()
		if err != nil {
			require.Equal(t, "timeout", ClassOf(err))
			return
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	t.Fatal("the backlog does not fill")
}

func TestAServerThatMovedFromAnAddressThatSwallowsPacketsIsFound(t *testing.T) {
	t.Parallel()
	port := listen(t, "127.0.0.2")
	swallow(t, port)
	n, _ := of("127.0.0.1", "127.0.0.2")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	at, err := reached(ctx, n, "broker:"+port)
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.2", at)
}

package store

import (
	"crypto/tls"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/lib/netext"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
)

// direct is a network without name resolution or certificate authorities.
var direct = network.Network{Dialer: netext.NewDialer(net.Dialer{}, nil), TLS: &tls.Config{}}

// Regression: the password was sent in clear text. go-redis leaves TLS to the dialer, and k6's
// dialer has none.
func TestRedissIsEncrypted(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	first := make(chan byte, 1)
	go func() {
		for { // the client retries
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
	_, err = Open(t.Context(), direct, "rediss://user:hunter2@"+listener.Addr().String(), "", clock.New())
	require.Error(t, err)
	const handshake = 22 // TLS content type
	assert.Equal(t, byte(handshake), <-first)
}

func TestAddressesOfACluster(t *testing.T) {
	t.Parallel()
	first, nodes, err := Parse("redis://reader:a%2Cb@one:7001,two:7002,three/0")
	require.NoError(t, err)
	assert.Equal(t, []string{"one:7001", "two:7002", "three:6379"}, nodes)
	assert.Equal(t, []string{"one:7001", "reader", "a,b"}, []string{first.Addr, first.Username, first.Password})
	for _, address := range []string{"redis://one:7001,two:x", "http://one:7001"} {
		_, _, err := Parse(address)
		assert.Error(t, err, address)
	}
}

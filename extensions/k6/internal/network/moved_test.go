package network

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/lib/netext"
	"go.k6.io/k6/v2/lib/types"
)

// of returns a network whose k6 has cached an old address, and whose DNS gives other ones now.
func of(cached string, now ...string) (Network, *netext.Dialer) {
	once := func(string) ([]net.IP, error) { return []net.IP{net.ParseIP(cached)}, nil }
	dialer := netext.NewDialer(net.Dialer{}, netext.NewResolver(once, time.Hour, types.DNSfirst, types.DNSany))
	lookup := func(context.Context, string) ([]net.IP, error) {
		var ips []net.IP
		for _, ip := range now {
			ips = append(ips, net.ParseIP(ip))
		}
		return ips, nil
	}
	return Network{Dialer: dialer, moves: &moves{lookup: lookup}}, dialer
}

// listen opens a server at a host of loopback that accepts and does nothing, and returns its port, which nobody uses on
// the other hosts: they have other programs' ports too.
func listen(t *testing.T, host string) string {
	t.Helper()
	for {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", host+":0")
		require.NoError(t, err)
		_, port, err := net.SplitHostPort(l.Addr().String())
		require.NoError(t, err)
		if !unused(t, port, host) {
			require.NoError(t, l.Close())
			continue
		}
		t.Cleanup(func() { assert.NoError(t, l.Close()) })
		return port
	}
}

func unused(t *testing.T, port, but string) bool {
	t.Helper()
	for _, host := range []string{"127.0.0.1", "127.0.0.2", "127.0.0.3"} {
		if host == but {
			continue
		}
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(host, port))
		if err != nil {
			return false
		}
		require.NoError(t, l.Close())
	}
	return true
}

func reached(ctx context.Context, n Network, address string) (string, error) {
	conn, err := n.DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	return host, errors.Join(err, conn.Close())
}

// Regression: Redis' pod moved, and generators dialled its old address for five minutes.
func TestAServerThatMovedIsFoundAgain(t *testing.T) {
	t.Parallel()
	port := listen(t, "127.0.0.2")
	n, _ := of("127.0.0.1", "127.0.0.2")
	for range 2 { // the second time without a failure
		at, err := reached(t.Context(), n, "redis:"+port)
		require.NoError(t, err)
		assert.Equal(t, "127.0.0.2", at)
	}
}

func TestAServerThatMovedTwiceIsFoundAgain(t *testing.T) {
	t.Parallel()
	port := listen(t, "127.0.0.3")
	n, _ := of("127.0.0.1", "127.0.0.3")
	n.moves.of = map[string]net.IP{"redis": net.ParseIP("127.0.0.2")}
	at, err := reached(t.Context(), n, "redis:"+port)
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.3", at)
}

// An address that drops packets takes the whole time of the first attempt.
func TestTheNextAttemptGoesToTheNewAddress(t *testing.T) {
	t.Parallel()
	port := listen(t, "127.0.0.2")
	n, _ := of("127.0.0.1", "127.0.0.2")
	past, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	_, err := reached(past, n, "redis:"+port)
	require.Error(t, err)
	at, err := reached(t.Context(), n, "redis:"+port)
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.2", at)
}

func TestAServerThatIsDownKeepsItsError(t *testing.T) {
	t.Parallel()
	port := listen(t, "127.0.0.2")
	n, _ := of("127.0.0.1", "127.0.0.1")
	_, err := reached(t.Context(), n, "redis:"+port)
	assert.Equal(t, "refused", ClassOf(err))
	assert.ErrorContains(t, err, "127.0.0.1:"+port)
}

func TestOptionsOfK6HoldForANewAddress(t *testing.T) {
	t.Parallel()
	port := listen(t, "127.0.0.2")
	for what, set := range map[string]func(*netext.Dialer){
		"hosts": func(d *netext.Dialer) {
			hosts, err := types.NewHosts(map[string]types.Host{"redis": {IP: net.ParseIP("127.0.0.1")}})
			require.NoError(t, err)
			d.Hosts = hosts
		},
		"blockHostnames": func(d *netext.Dialer) {
			blocked, err := types.NewHostnameTrie([]string{"redis"})
			require.NoError(t, err)
			d.BlockedHostnames = blocked
		},
	} {
		n, dialer := of("127.0.0.1", "127.0.0.2")
		set(dialer)
		_, err := reached(t.Context(), n, "redis:"+port)
		assert.Error(t, err, what)
	}
}

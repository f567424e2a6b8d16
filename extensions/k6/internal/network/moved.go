package network

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext"
)

// lookupPatience is how long a look-up of a name may take, beyond the attempt to connect that failed.
const lookupPatience = 2 * time.Second

// moves holds names whose server answers at another address than k6's DNS cache says. k6 keeps an address for
// five minutes (options.dns.ttl), and a server that a cluster restarts has another one within seconds.
type moves struct {
	lookup func(ctx context.Context, host string) ([]net.IP, error) // nil: the system's

	mutex sync.Mutex
	of    map[string]net.IP
}

// dial connects through k6's dialer. If that fails, it looks the name up again, and connects to another address if
// there is one. The rules of k6's options hold for it too: hosts, blockHostnames, blacklistIPs.
func (n Network) dial(ctx context.Context, protocol, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || n.moves == nil || net.ParseIP(host) != nil || configured(n.Dialer, address, host) {
		return n.Dialer.DialContext(ctx, protocol, address)
	}
	last := n.moves.get(host)
	to := address
	if last != nil {
		to = net.JoinHostPort(last.String(), port)
	}
	conn, err := n.Dialer.DialContext(ctx, protocol, to)
	var failed *net.OpError
	if err == nil || !errors.As(err, &failed) || failed.Op != "dial" || errors.Is(ctx.Err(), context.Canceled) {
		return conn, err
	}
	tried, ok := failed.Addr.(*net.TCPAddr)
	if !ok {
		return nil, err
	}
	other := n.moves.find(ctx, host, tried.IP)
	if other == nil || ctx.Err() != nil { // the next attempt begins there
		return nil, err
	}
	return n.Dialer.DialContext(ctx, protocol, net.JoinHostPort(other.String(), port))
}

// configured reports whether k6's options decide the address of a name, so that DNS has no say.
func configured(of lib.DialContexter, address, host string) bool {
	dialer, ok := of.(*netext.Dialer)
	return ok && dialer.Hosts != nil && (dialer.Hosts.Match(address) != nil || dialer.Hosts.Match(host) != nil)
}

func (m *moves) get(host string) net.IP {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.of[host]
}

// find looks a name up whose address `tried` did not answer, and remembers the one to use from now on. It
// returns nil if DNS still gives only that one. An address of the same family comes first: options.dns.policy may
// have chosen it.
func (m *moves) find(ctx context.Context, host string, tried net.IP) net.IP {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupPatience)
	defer cancel()
	lookup := m.lookup
	if lookup == nil {
		lookup = func(ctx context.Context, host string) ([]net.IP, error) {
			return net.DefaultResolver.LookupIP(ctx, "ip", host)
		}
	}
	found, err := lookup(ctx, host)
	if err != nil {
		return nil
	}
	var other net.IP
	for _, ip := range found {
		sameFamily := (ip.To4() == nil) == (tried.To4() == nil)
		if !ip.Equal(tried) && (other == nil || sameFamily) {
			other = ip
			if sameFamily {
				break
			}
		}
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if other == nil {
		delete(m.of, host)
		return nil
	}
	if m.of == nil {
		m.of = map[string]net.IP{}
	}
	m.of[host] = other
	return other
}

package send

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
)

// link is a Poster's connection to the ingest. Setting the socket's deadline for each request took a twentieth
// of the CPU. So the socket keeps an earlier request's deadline, and gets a new one only when that has passed.
type link struct {
	net.Conn             // made by k6's dialer
	secure   net.Conn    // on top of it; TLS; nil: plain HTTP
	deadline time.Time   // the request's
	applied  time.Time   // the deadline that the socket has; never after deadline
	began    time.Time   // just before the first byte of the request was written
	fresh    bool        // nothing of the request has been written
	lost     error       // what ended it
	used     time.Time   // the end of the last request
	wrote    int         // bytes of the request that the kernel has taken
	answered bool        // a byte of its answer has come
	reset    atomic.Bool // the other side has reset it
	peer     peer
	stamped  *socket.Stamped // below Conn; nil: nobody asks when an answer came
}

// dial connects, and shakes hands, before deadline. Its errors are DialErrors: nothing has been sent.
func (p *Poster) dial(deadline time.Time) (*link, error) {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	conn, err := p.network.DialContext(ctx, "tcp", p.address)
	if err != nil {
		return nil, &DialError{err}
	}
	l := &link{Conn: conn}
	l.peer.of(conn)
	if p.Stamps {
		l.stamped = socket.Asked(conn)
		l.Conn = l.stamped
	}
	if !p.secure {
		return l, nil
	}
	if l.secure, err = network.Secure(ctx, l, p.network.TLS, p.address, "http/1.1"); err != nil {
		// What a server answers that has no such protocol (RFC 7301, 3.2); crypto/tls has no type for it.
		if strings.Contains(err.Error(), "no application protocol") || strings.Contains(err.Error(), "unadvertised ALPN") {
			err = errOffer
		}
		return nil, &DialError{err}
	}
	return l, nil
}

// expect starts a request with its deadline, which is never before the last one's.
func (l *link) expect(now, deadline time.Time) {
	l.deadline, l.wrote, l.answered = deadline, 0, false
	l.began, l.fresh = now, true
	if !l.applied.After(now) {
		l.apply()
	}
}

func (l *link) apply() {
	l.applied = l.deadline
	_ = l.SetDeadline(l.deadline) // a connection without a deadline fails at the next read or write
}

// early reports whether the socket timed out at an earlier request's deadline, and then sets this one's.
func (l *link) early(err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) || !time.Now().Before(l.deadline) || !l.applied.Before(l.deadline) {
		return false
	}
	l.apply()
	return true
}

// note records whether the connection was reset. The kernel reports that once, and later an end.
func (l *link) note(err error) {
	if err != nil && errors.Is(err, syscall.ECONNRESET) {
		l.reset.Store(true)
	}
}

func (l *link) Read(b []byte) (int, error) {
	for {
		n, err := l.Conn.Read(b)
		l.note(err)
		if n > 0 || err == nil || !l.early(err) {
			return n, err
		}
	}
}

func (l *link) Write(b []byte) (int, error) {
	if l.fresh {
		l.began, l.fresh = time.Now(), false
	}
	n := 0
	for {
		m, err := l.Conn.Write(b[n:])
		l.note(err)
		n, l.wrote = n+m, l.wrote+m
		if err == nil || !l.early(err) {
			return n, err
		}
	}
}

// incoming reads the decrypted answer. It keeps the error, since fasthttp's parser turns each into EOF.
type incoming struct{ *link }

func (a incoming) Read(b []byte) (n int, err error) {
	if a.secure != nil {
		n, err = a.secure.Read(b)
	} else {
		n, err = a.link.Read(b)
	}
	a.answered = a.answered || n > 0
	if err != nil {
		a.lost = err
	}
	return n, err
}

// send writes a request.
func (l *link) send(packet []byte) (err error) {
	if l.secure != nil {
		_, err = l.secure.Write(packet)
	} else {
		_, err = l.Write(packet)
	}
	return err
}

func (l *link) hangUp() {
	if l.secure != nil {
		_ = l.secure.Close()
	}
	_ = l.Close()
}

// unread reports whether the other side can't have read a byte of a request that failed: then it may be sent again.
func (l *link) unread(err error) bool {
	if l.answered || errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	return l.wrote == 0 || !l.reset.Load() && l.refused() >= l.wrote
}

// Idle holds connections between requests. Several Posters may share one. The connection that was idle for the shortest
// time is used next: in turn, at a low rate, each would be idle for longer than servers keep it.
type Idle struct {
	mu    sync.Mutex
	links []*link // the one that was used longest ago is first
}

// idleMost is how long an idle connection is kept: less than servers keep it (Node 5 s, Fastify 72 s).
const idleMost = 4 * time.Second

// take returns the open connection that was used last; nil: there is none.
func (i *Idle) take(now time.Time) *link {
	for {
		i.mu.Lock()
		n := len(i.links)
		if n == 0 {
			i.mu.Unlock()
			return nil
		}
		l := i.links[n-1]
		i.links[n-1] = nil
		i.links = i.links[:n-1]
		i.mu.Unlock()
		switch {
		case l.expired(now): // so are those before it
			go i.sweep(now)
			l.hangUp()
			return nil
		case !l.closed():
			return l
		}
		l.hangUp()
	}
}

// put keeps a connection that was in use until now, and closes those that were idle for too long.
func (i *Idle) put(l *link, now time.Time) {
	l.used = now
	i.mu.Lock()
	i.links = append(i.links, l)
	old := len(i.links) > 1 && i.links[0].expired(now)
	i.mu.Unlock()
	if old {
		i.sweep(now)
	}
}

// sweep closes those that were idle for too long.
func (i *Idle) sweep(now time.Time) {
	i.mu.Lock()
	n := 0
	for n < len(i.links) && i.links[n].expired(now) {
		n++
	}
	old := slices.Clone(i.links[:n])
	i.links = slices.Delete(i.links, 0, n)
	i.mu.Unlock()
	for _, one := range old {
		one.hangUp()
	}
}

func (l *link) expired(now time.Time) bool { return now.Sub(l.used) > idleMost }

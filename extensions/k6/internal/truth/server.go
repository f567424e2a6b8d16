package truth

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
)

// Server answers requests of HTTP/1.0 and 1.1, of any method and path, by the script of a truth.
//
// The script counts from the kernel's stamp of a request, not from when this process came to read it, and the time of
// an answer is set in advance. So a busy machine delays an answer only if this process doesn't run when it is due.
type Server struct {
	truth    Truth
	load     Load
	listener *net.TCPListener

	mu       sync.Mutex
	decide   script
	first    time.Time       // the first request, which is the script's time zero
	begun    []time.Duration // since then
	served   []time.Duration
	requests Requests

	open atomic.Int64 // connections at the moment
}

// Listen makes a server that listens on a free port.
func Listen(t Truth, l Load) (*Server, error) {
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	return &Server{truth: t, load: l, listener: listener, decide: t.script(l)}, nil
}

// Address is where the server listens.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Serve answers until ctx ends. Then it closes all connections.
func (s *Server) Serve(ctx context.Context) error {
	const look = time.Minute // nothing is asked about the time that bytes waited unread
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	context.AfterFunc(ctx, func() { _ = s.listener.Close() })
	accepting := socket.Accept(s.listener, look)
	var connections sync.WaitGroup
	defer connections.Wait()
	defer stop()
	for {
		conn, err := s.listener.AcceptTCP()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if s.truth.limited && s.open.Load() >= s.load.limit() {
			s.note(func(r *Requests) { r.RefusedConnections++ })
			_ = conn.SetLinger(0)
			_ = conn.Close()
			continue
		}
		sent, err := socket.Sent(conn)
		if err != nil {
			return err
		}
		c := &connection{Server: s, tcp: conn, in: accepting.Stamped(conn), sent: sent}
		s.open.Add(1)
		connections.Go(func() {
			defer s.open.Add(-1)
			defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
			c.serve(ctx)
		})
	}
}

// Record describes what was done until now.
func (s *Server) Record() Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	begun, served := slices.Sorted(slices.Values(s.begun)), slices.Sorted(slices.Values(s.served))
	return Record{
		Due: QuantilesOf(s.truth.Due(s.load)), Served: QuantilesOf(served), Requests: s.requests,
		Gaps: evenness(begun, s.load),
	}
}

// begin records a request, and returns when it is to be answered or reset.
func (s *Server) begin(came time.Time) (time.Time, fate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests.Begun == 0 {
		s.first = came
	}
	at := came.Sub(s.first)
	o := s.decide(s.requests.Begun, max(0, at)) // below 0: read after one that came later
	s.requests.Begun++
	s.begun = append(s.begun, at)
	switch o.fate {
	case reset:
		s.requests.Reset++
	case lost:
		s.requests.Lost++
	}
	return s.first.Add(o.at), o.fate
}

// note counts something.
func (s *Server) note(count func(*Requests)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	count(&s.requests)
}

type connection struct {
	*Server
	tcp   *net.TCPConn
	in    *socket.Stamped
	sent  func() time.Time
	known bool // it has carried a request
}

// serve answers one request after the other.
func (c *connection) serve(ctx context.Context) {
	defer func() { _ = c.in.Close() }()
	for from := bufio.NewReader(c.in); ; {
		if _, err := from.Peek(1); err != nil {
			return
		}
		came := c.in.Last()
		request, err := http.ReadRequest(from)
		if err != nil {
			_, _ = io.WriteString(c.in, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			return
		}
		if _, err := io.Copy(io.Discard, request.Body); err != nil {
			return
		}
		if !c.known {
			c.known = true
			c.note(func(r *Requests) { r.Connections++ })
		}
		switch at, fate := c.begin(came.At); {
		case fate == lost:
			_, _ = io.Copy(io.Discard, from) // until the load generator gives up
			return
		case !wait(ctx, at):
			return
		case fate == reset:
			_ = c.tcp.SetLinger(0)
			return
		}
		if !c.answer(request, came) || request.Close {
			return
		}
	}
}

// wait waits for a time, the end of it by looking at the clock: a timer wakes this process some 50 µs late.
func wait(ctx context.Context, at time.Time) bool {
	const early = 60 * time.Microsecond
	goesOn := clock.SleepUntil(ctx, nil, at.Add(-early))
	for goesOn && time.Until(at) > 0 {
	}
	return goesOn
}

// answer answers a request; false: its connection is closed.
func (c *connection) answer(request *http.Request, came socket.Arrival) bool {
	c.sent() // a stamp of the answer before that came late
	if _, err := c.in.Write(answer(request)); err != nil {
		return false
	}
	at, stamped := c.sent(), came.Kernel
	if at.IsZero() {
		at, stamped = time.Now(), false
	}
	c.note(func(r *Requests) {
		r.Answered++
		if !stamped {
			r.Unstamped++
		}
		c.served = append(c.served, time.Duration(at.UnixNano()-came.At.UnixNano()))
	})
	return true
}

// answer is the answer to a request. It says that the connection stays open, which clients of HTTP/1.0 need.
func answer(request *http.Request) []byte {
	body, after := "ok", "keep-alive"
	if request.Method == http.MethodHead {
		body = ""
	}
	if request.Close {
		after = "close"
	}
	return fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: %s\r\n\r\n%s",
		after, body)
}

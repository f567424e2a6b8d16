package send

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/lib/netext"

	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
)

// certified returns a TLS configuration of a server with a certificate for tests.
func certified(t *testing.T) *tls.Config {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	t.Cleanup(server.Close)
	return &tls.Config{Certificates: server.TLS.Certificates, MinVersion: tls.VersionTLS12}
}

// earlyHandler answers a request whose header has been read. over is closed at the end of the test.
type earlyHandler func(conn net.Conn, body io.Reader, over <-chan struct{})

// serveEarly accepts connections, reads the header of the first request, and lets handle do the rest.
func serveEarly(t *testing.T, secure *tls.Config, handle earlyHandler) (address string) {
	t.Helper()
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if secure != nil {
				conn = tls.Server(conn, secure)
			}
			go func() {
				defer func() { _ = conn.Close() }()
				for reader := bufio.NewReaderSize(conn, 16); ; {
					request, err := http.ReadRequest(reader)
					if err != nil {
						return
					}
					handle(conn, request.Body, over)
				}
			}()
		}
	}()
	return listener.Addr().String()
}

const tooLarge = "HTTP/1.1 413 Too Large\r\nContent-Length: 4\r\n\r\nlong"

// Regression: a 413 that came while a large body was being written was "reset" (RFC 9112, 9.3 and 9.6).
func TestAnAnswerBeforeTheRequestWasWrittenIsTheAnswer(t *testing.T) {
	t.Parallel()
	secure := certified(t)
	for name, handle := range map[string]earlyHandler{
		"closes": func(conn net.Conn, _ io.Reader, _ <-chan struct{}) {
			_, _ = io.WriteString(conn, tooLarge)
			_ = conn.Close()
		},
		"closes in the body": func(conn net.Conn, body io.Reader, _ <-chan struct{}) {
			_, _ = io.CopyN(io.Discard, body, 9000)
			_, _ = io.WriteString(conn, tooLarge)
			_ = conn.Close()
		},
		"reads no more": func(conn net.Conn, _ io.Reader, over <-chan struct{}) {
			_, _ = io.WriteString(conn, tooLarge)
			<-over
		},
		"reads on": func(conn net.Conn, body io.Reader, _ <-chan struct{}) {
			_, _ = io.WriteString(conn, tooLarge)
			_, _ = io.Copy(io.Discard, body)
		},
		"interim answer first": func(conn net.Conn, _ io.Reader, _ <-chan struct{}) {
			_, _ = io.WriteString(conn, "HTTP/1.1 100 Continue\r\n\r\n"+tooLarge)
			_ = conn.Close()
		},
		"without a length": func(conn net.Conn, _ io.Reader, _ <-chan struct{}) {
			_, _ = io.WriteString(conn, "HTTP/1.0 413 Too Large\r\n\r\nlong")
			if half, ok := conn.(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite()
			}
		},
	} {
		for _, size := range []int{9_500, 100_000, 16 << 20} {
			for _, config := range []*tls.Config{nil, secure} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					address := serveEarly(t, config, handle)
					url := "http://" + address
					if config != nil {
						url = "https://" + address
					}
					p := newTestPoster(t, url, keep, longTimeout)
					p.network = network.Network{
						Dialer: netext.NewDialer(net.Dialer{}, nil),
						TLS:    &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a test
					}
					a := p.Post(time.Now(), make([]byte, size), 1)
					require.NoError(t, a.Err)
					assert.Equal(t, http.StatusRequestEntityTooLarge, a.Status)
					assert.Equal(t, "long", string(a.Body()))
				})
			}
		}
	}
}

// An early answer of success does not end the request: a server may answer while it reads.
func TestAnEarlySuccessWaitsForTheRequest(t *testing.T) {
	t.Parallel()
	const size = 16 << 20
	got := make(chan int64, 1)
	address := serveEarly(t, nil, func(conn net.Conn, body io.Reader, _ <-chan struct{}) {
		_, _ = io.WriteString(conn, "HTTP/1.1 202 A\r\nContent-Length: 0\r\n\r\n")
		n, _ := io.Copy(io.Discard, body)
		got <- n
	})
	p := newTestPoster(t, "http://"+address, keep, longTimeout)
	for range 2 {
		a := p.Post(time.Now(), make([]byte, size), 1)
		require.NoError(t, a.Err)
		assert.Equal(t, http.StatusAccepted, a.Status)
		assert.EqualValues(t, size, <-got)
		assert.Len(t, p.Idle.links, 1, "the connection is kept")
	}
}

func TestALargeRequestWithoutAnAnswerFails(t *testing.T) {
	t.Parallel()
	for name, handle := range map[string]earlyHandler{
		"closed or reset": func(conn net.Conn, _ io.Reader, _ <-chan struct{}) { _ = conn.Close() },
		"timeout": func(_ net.Conn, body io.Reader, over <-chan struct{}) {
			_, _ = io.Copy(io.Discard, body)
			<-over
		},
		"timeout too": func(_ net.Conn, _ io.Reader, over <-chan struct{}) { <-over },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := longTimeout
			if name != "closed or reset" {
				timeout = time.Second
			}
			p := newTestPoster(t, "http://"+serveEarly(t, nil, handle), keep, timeout)
			a := p.Post(time.Now(), make([]byte, 16<<20), 1)
			require.Error(t, a.Err)
			assert.Contains(t, name, network.ClassOf(a.Err))
			assert.Empty(t, p.Idle.links)
		})
	}
}

// Package network opens connections to the pipeline through k6's dialer, with TLS trust, and classifies their
// errors.
package network

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext"
)

// Network is what a connection needs: dialer and TLS configuration.
type Network struct {
	Dialer lib.DialContexter // k6's; connect with DialContext
	TLS    *tls.Config       // clone it before changing it

	moves *moves // nil: addresses are k6's alone
}

// Trust is the set of certificate authorities that the run accepts, and what it has learnt of its servers' addresses.
type Trust struct {
	CA string // PEM; empty: k6's own

	once  sync.Once
	roots *x509.CertPool // the system's and those of CA; nil: the system's
	moves moves
}

// Of returns the network of a VU: k6's own configuration of TLS, with the authorities of CA beside those of the system.
func (t *Trust) Of(state *lib.State) Network {
	t.once.Do(func() {
		if t.CA == "" {
			return
		}
		roots, err := x509.SystemCertPool()
		if err != nil { // a machine without any
			roots = x509.NewCertPool()
		}
		roots.AppendCertsFromPEM([]byte(t.CA))
		t.roots = roots
	})
	if state.TLSConfig == nil {
		return Network{state.Dialer, &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: t.roots}, &t.moves}
	}
	config := state.TLSConfig.Clone()
	if t.roots != nil {
		config.RootCAs = t.roots
	}
	return Network{state.Dialer, config, &t.moves}
}

// Secure opens TLS over a connection to an address. It closes the connection if the handshake fails.
func Secure(
	ctx context.Context, conn net.Conn, config *tls.Config, address string, protocols ...string,
) (net.Conn, error) {
	config = config.Clone()
	config.NextProtos = protocols // k6 sets HTTP's there
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(address)
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secured, nil
}

// Advise adds advice for the user to a connection error.
func Advise(err error) error {
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) {
		return fmt.Errorf("%w (ca, TLS_CA: the file of its authority)", err)
	}
	return err
}

// ClassOf names the cause of an error in an operator's words.
func ClassOf(err error) string {
	var (
		name        *net.DNSError
		timeout     net.Error
		certificate *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		record      tls.RecordHeaderError
		alert       *net.OpError
		address     netext.BlackListedIPError
		host        netext.BlockedHostError
	)
	switch {
	case errors.As(err, &address), errors.As(err, &host):
		return "blocked by k6's options"
	case errors.As(err, &certificate), errors.As(err, &authority), errors.As(err, &record),
		errors.As(err, &alert) && alert.Op == "remote error": // what crypto/tls calls an alert
		return "TLS"
	case errors.As(err, &name):
		return "name not resolved"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "reset"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "closed"
	}
	return "failed"
}

// An address whose server is gone, as of a pod that moved, may swallow packets. So the first attempt to connect is
// short, and the next one goes to where the name leads by then. Each may take twice as long as the one before, for slow
// networks.
const (
	firstAttempt = 2 * time.Second
	lastAttempt  = 16 * time.Second
)

// DialContext connects through k6's dialer. If an attempt fails, it looks the name up again; where one gets no
// answer in time, it makes another one, until the context ends.
func (n Network) DialContext(ctx context.Context, protocol, address string) (net.Conn, error) {
	for most := firstAttempt; ; most *= 2 {
		conn, isLate, err := n.attempt(ctx, most, protocol, address)
		if !isLate || most >= lastAttempt {
			return conn, err
		}
	}
}

// attempt makes one attempt, and reports whether it, and not the caller's context, ran out of time.
func (n Network) attempt(ctx context.Context, most time.Duration, protocol, address string) (net.Conn, bool, error) {
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	conn, err := n.dial(limited, protocol, address)
	var timed net.Error // the dialer's own timer may end before the context
	return conn, errors.As(err, &timed) && timed.Timeout() && ctx.Err() == nil, err
}

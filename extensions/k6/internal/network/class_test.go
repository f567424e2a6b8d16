package network

import (
	"crypto/tls"
	"crypto/x509"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Regression: a server that wants a certificate, which TLS 1.3 says after the handshake, was "failed".
func TestAnAlertIsOfTLS(t *testing.T) {
	t.Parallel()
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		server := httptest.NewUnstartedServer(nil)
		server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: version, MaxVersion: version}
		server.StartTLS()
		defer server.Close()
		roots := x509.NewCertPool()
		roots.AddCert(server.Certificate())
		conn, err := tls.Dial("tcp", server.Listener.Addr().String(), &tls.Config{RootCAs: roots, MinVersion: version})
		if err == nil {
			defer func() { require.NoError(t, conn.Close()) }()
			_, err = conn.Read(make([]byte, 1))
		}
		require.Error(t, err)
		assert.Equal(t, "TLS", ClassOf(err), err)
	}
}

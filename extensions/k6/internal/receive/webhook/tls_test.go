package webhook

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pair makes a certificate for 127.0.0.1 and its key, as the texts of PEM files.
func pair(t *testing.T) (cert, key string) {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "hook"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &own.PublicKey, own)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(own)
	require.NoError(t, err)
	text := func(kind string, b []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}))
	}
	return text("CERTIFICATE", der), text("PRIVATE KEY", private)
}

// A caller that does not trust the listener, or speaks no TLS, is counted.
func TestAWebhookOverTLS(t *testing.T) {
	t.Parallel()
	cert, key := pair(t)
	h := openWith(t, Options{Cert: cert, Key: key}, usual)
	assert.True(t, strings.HasPrefix(h.at, "https://"))
	_, err := http.Post(h.at, "", nil)
	require.Error(t, err)
	h.await("TLS")
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM([]byte(cert)))
	client := http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}, ForceAttemptHTTP2: true,
	}}
	t.Cleanup(client.CloseIdleConnections)
	answer, err := client.Post(h.at, "application/json", strings.NewReader(`{"id":"run.1.5"}`))
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	assert.Equal(t, "HTTP/1.1", answer.Proto)
	assert.Equal(t, 1, h.Ledger.Deliveries())
}

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// ingest is a pipeline's ingest at a port of its own, which notes who connects and what they send.
type ingest struct {
	*httptest.Server
	mu       sync.Mutex
	from     map[string]int // connections, by the client's address
	requests []*http.Request
}

func startIngest(t *testing.T, pipeline *fake.Pipeline, secure *tls.Config) *ingest {
	t.Helper()
	s := &ingest{from: map[string]int{}}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r)
		s.mu.Unlock()
		pipeline.ServeHTTP(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		if state == http.StateNew {
			host, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
			s.mu.Lock()
			s.from[host]++
			s.mu.Unlock()
		}
	}
	if secure == nil {
		s.Start()
	} else {
		s.TLS = secure
		s.StartTLS()
	}
	t.Cleanup(s.Close)
	return s
}

// at makes a script send to an ingest by a name, or by its address.
func at(s *ingest, name string) string {
	return fmt.Sprintf("given.ingest.url = '%s';\n", strings.Replace(s.URL, "127.0.0.1", name, 1))
}

// classes are the errors of a run's requests.
func classes(r *runfile.Run) (all []string) {
	for _, e := range r.Errors {
		all = append(all, e.Class)
	}
	return all
}

func TestNetworkOptionsOfK6HoldForTheSender(t *testing.T) {
	t.Parallel()
	pipeline := test.Start(t, &fake.Pipeline{})
	s := startIngest(t, pipeline, nil)
	r := runScriptIn(t, []string{"K6_USER_AGENT=mine", "K6_NO_CONNECTION_REUSE=true", "K6_RPS=25"}, pipeline,
		native(at(s, "ingest.test"))+"Object.assign(options, { hosts: { 'ingest.test': '127.0.0.1' }, "+
			"dns: { ttl: '1s', select: 'first', policy: 'onlyIPv4' } });", "--local-ips=127.0.0.9")
	run := test.Run(t, r.dir)
	require.Equal(t, 50, run.Account.Arrived, r.output)
	assert.Equal(t, map[string]int{"127.0.0.9": 50}, s.from)
	assert.Equal(t, "mine", s.requests[0].UserAgent())
	assert.Greater(t, *run.Latency.Stages["schedule"].Max, 900.0, "the last of 50 waits: 25 in a second")
}

func TestAddressesThatK6BlocksAreNotReached(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ environment, flag string }{
		"blacklistIPs":   {environment: "K6_BLACKLIST_IPS=127.0.0.2/32"},
		"blockHostnames": {flag: "--block-hostnames=*.test"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pipeline := test.Start(t, &fake.Pipeline{})
			s := startIngest(t, pipeline, nil)
			var flags []string
			if c.flag != "" {
				flags = append(flags, c.flag)
			}
			r := runScriptIn(t, []string{c.environment}, pipeline,
				native(at(s, "ingest.test"))+"options.hosts = { 'ingest.test': '127.0.0.2' };", flags...)
			run := test.Run(t, r.dir)
			assert.Equal(t, 50, run.Account.Rejected, r.output)
			assert.Equal(t, []string{"no connection: blocked by k6's options"}, classes(run))
			assert.Empty(t, s.from)
		})
	}
}

// certificate returns a client's certificate, which authorizes itself, and its key, both in PEM.
func certificate(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	marshalled, err := x509.MarshalECPrivateKey(private)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})),
		string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: marshalled}))
}

func TestOptionsOfTLSHoldForTheSender(t *testing.T) {
	t.Parallel()
	pipeline := test.Start(t, &fake.Pipeline{})
	s := startIngest(t, pipeline, &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12})
	cert, key := certificate(t)
	set := fmt.Sprintf("Object.assign(options, { tlsVersion: 'tls1.2', "+
		"tlsCipherSuites: ['TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384'], "+
		"tlsAuth: [{ cert: `%s`, key: `%s` }] });", cert, key)

	r := runScript(t, pipeline, native(at(s, "127.0.0.1"))+set, "--insecure-skip-tls-verify")
	require.Equal(t, 50, test.Run(t, r.dir).Account.Arrived, r.output)
	for _, request := range s.requests {
		assert.Equal(t, uint16(tls.VersionTLS12), request.TLS.Version)
		assert.Equal(t, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, request.TLS.CipherSuite)
		assert.Len(t, request.TLS.PeerCertificates, 1)
	}

	r = runScript(t, pipeline, native(at(s, "127.0.0.1"))+set)
	run := test.Run(t, r.dir)
	assert.Equal(t, 50, run.Account.Rejected, "the certificate is not trusted")
	assert.Equal(t, []string{"TLS"}, classes(run))
}

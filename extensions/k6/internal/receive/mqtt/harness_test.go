package mqtt

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/paho"
	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// mosquitto is a Mosquitto on free ports of 127.0.0.1.
type mosquitto struct {
	addresses map[string]string // scheme → host:port
	tls       *tls.Config       // trusts its certificate
}

var schemes = []string{"mqtt", "mqtts", "ws", "wss"}

func (m *mosquitto) url(scheme string) string { return scheme + "://" + m.addresses[scheme] }

// startMosquitto starts a Mosquitto; more holds extra lines of its configuration.
func startMosquitto(t *testing.T, more ...string) *mosquitto {
	t.Helper()
	dir := t.TempDir()
	m := &mosquitto{addresses: map[string]string{}, tls: certificate(t, dir)}
	secure := "\ncertfile " + filepath.Join(dir, "cert.pem") + "\nkeyfile " + filepath.Join(dir, "key.pem")
	const web = "protocol websockets"
	server := test.StartMosquitto(t, append([]string{test.Anyone}, more...), "", secure, web, web+secure)
	for i, scheme := range schemes {
		m.addresses[scheme] = server.Addresses[i]
	}
	return m
}

// certificate writes a certificate for 127.0.0.1 and its key. The result trusts it.
func certificate(t *testing.T, dir string) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "broker"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	for name, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: pkcs8},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600))
	}
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	// As in a VU of k6.
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
}

// embeddedBroker starts a broker in this process and returns its URL.
func embeddedBroker(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	broker := mochi.New(&mochi.Options{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, broker.AddHook(new(auth.AllowHook), nil))
	require.NoError(t, broker.AddListener(listeners.NewNet("test", listener)))
	require.NoError(t, broker.Serve())
	t.Cleanup(func() { _ = broker.Close() })
	return "mqtt://" + listener.Addr().String()
}

// publisher returns a function that publishes with paho, an independent client.
func publisher(t *testing.T, m *mosquitto) func(topic, payload string, qos byte) {
	t.Helper()
	conn, err := net.Dial("tcp", m.addresses["mqtt"])
	require.NoError(t, err)
	client := paho.NewClient(paho.ClientConfig{Conn: conn})
	_, err = client.Connect(context.Background(), &paho.Connect{ClientID: "publisher", CleanStart: true, KeepAlive: 60})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Disconnect(&paho.Disconnect{}) })
	return func(topic, payload string, qos byte) {
		p := &paho.Publish{Topic: topic, Payload: []byte(payload), QoS: qos, Properties: &paho.PublishProperties{}}
		p.Properties.User.Add("hops", "hops of "+payload)
		_, err := client.Publish(context.Background(), p)
		require.NoError(t, err)
	}
}

// subscribed returns a connection that is subscribed to the topics.
func subscribed(t *testing.T, o SubscriberOptions, qos byte, topics ...string) *Subscriber {
	t.Helper()
	c, err := Connect(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	require.NoError(t, c.Subscribe(t.Context(), topics, qos))
	return c
}

// reading reads in the background. Its result waits for the end and returns messages and error.
func reading(c *Subscriber, each func(got []seen)) func() ([]seen, error) {
	var (
		got  []seen
		err  error
		done = make(chan struct{})
	)
	go func() {
		defer close(done)
		err = c.Read("hops", func(messages []Message) {
			for _, m := range messages {
				got = append(got, seenOf(m))
			}
			each(got)
		})
	}()
	return func() ([]seen, error) { <-done; return got, err }
}

func numbered(n int) []string {
	payloads := make([]string, n)
	for i := range payloads {
		payloads[i] = fmt.Sprint("message ", i)
	}
	return payloads
}

func payloads(got []seen) []string {
	all := make([]string, len(got))
	for i, s := range got {
		all[i] = s.Payload
	}
	return all
}

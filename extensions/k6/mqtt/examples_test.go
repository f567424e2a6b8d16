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
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqtt"
)

// Each script of examples/ passes its own thresholds with the real ./k6, against Mosquitto and
// against the embedded broker.
func TestExamples(t *testing.T) {
	k6 := builtK6(t)
	scripts, err := filepath.Glob("examples/*.js")
	require.NoError(t, err)
	require.NotEmpty(t, scripts)
	keys := newAuthority(t)
	slots := make(chan struct{}, 2) // k6 processes at once
	for name, b := range map[string]*exampleBroker{
		"Mosquitto": exampleMosquitto(t, keys), "embedded": exampleEmbedded(t, keys),
	} {
		for _, script := range scripts {
			t.Run(name+"/"+filepath.Base(script), func(t *testing.T) {
				if name == "embedded" && filepath.Base(script) == "will.js" {
					t.Skip("mochi 2 forgets the will of a client that is taken over before the broker reads from it (Client.Read)")
				}
				t.Parallel()
				slots <- struct{}{}
				defer func() { <-slots }()
				code, output := run(t, k6, script, b.env(script, keys))
				assert.Zero(t, code, "%s", output)
			})
		}
	}
}

// An example fails when its assertion is false, and reports why.
func TestExamplesFailWhenTheirAssertionsAreFalse(t *testing.T) {
	k6 := builtK6(t)
	keys := newAuthority(t)
	permissive := exampleEmbedded(t, keys)
	permissive.user = permissive.plain // accepts a wrong password
	untrusted := exampleEmbedded(t, newAuthority(t))
	down := &exampleBroker{plain: closedPort(t)}
	for script, test := range map[string]struct {
		broker *exampleBroker
		want   string
	}{
		"credentials.js": {permissive, "✗ a wrong password is an MQTTError"},
		"connect.js":     {down, "nothing listens there: start the broker or correct the address"},
		"tls.js":         {untrusted, "TLS handshake: tls: failed to verify certificate"},
	} {
		t.Run(script, func(t *testing.T) {
			code, output := run(t, k6, "examples/"+script, test.broker.env(script, keys))
			assert.Equal(t, thresholdCrossed, code, "%s", output)
			assert.Contains(t, output, test.want)
		})
	}
}

const thresholdCrossed = 99 // k6's exit code

// builtK6 returns the path of the repository's k6.
func builtK6(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../../k6")
	require.NoError(t, err)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		t.Fatal("./k6 is missing: build it with npm run setup")
	}
	return path
}

// run runs a script and returns k6's exit code and output.
func run(t *testing.T, k6, script string, env []string) (code int, output string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, k6, "run", "--quiet", "--no-color", "--include-system-env-vars", script)
	command.Env = append([]string{
		"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "K6_AUTO_EXTENSION_RESOLUTION=false",
		"K6_NO_USAGE_REPORT=true",
	}, env...)
	out, err := command.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	require.NoError(t, ctx.Err(), "%s", out)
	return command.ProcessState.ExitCode(), string(out)
}

// exampleBroker holds a broker's addresses, one for each way to connect.
type exampleBroker struct{ plain, user, tls, mutual, web, secureWeb string }

// env returns the environment variables that a script needs.
func (b *exampleBroker) env(script string, keys *authority) []string {
	switch filepath.Base(script) {
	case "credentials.js":
		return []string{"MQTT_URL=mqtt://" + b.user, "MQTT_USERNAME=sensor", "MQTT_PASSWORD=secret"}
	case "tls.js":
		return []string{
			"MQTT_URL=mqtts://" + b.mutual, "SSL_CERT_FILE=" + keys.certificate,
			"CERTIFICATE=" + keys.clientCertificate, "KEY=" + keys.clientKey,
		}
	case "schemes.js":
		return []string{"MQTT_URLS=" + strings.Join([]string{
			b.plain, "mqtt://" + b.plain, "tcp://" + b.plain, "mqtts://" + b.tls, "ssl://" + b.tls, "tls://" + b.tls,
			"ws://" + b.web + "/mqtt", "wss://" + b.secureWeb + "/mqtt",
		}, ",")}
	}
	return []string{"MQTT_URL=mqtt://" + b.plain}
}

func exampleMosquitto(t *testing.T, keys *authority) *exampleBroker {
	t.Helper()
	secure := fmt.Sprintf("\ncertfile %s\nkeyfile %s\n", keys.serverCertificate, keys.serverKey)
	const anyone = "allow_anonymous true"
	a := startMosquitto(t, anyone,
		"allow_anonymous false\npassword_file "+mosquittoUser(t, "sensor", "secret"),
		anyone+secure,
		anyone+secure+"cafile "+keys.certificate+"\nrequire_certificate true",
		anyone+"\nprotocol websockets",
		anyone+"\nprotocol websockets"+secure)
	return &exampleBroker{a[0], a[1], a[2], a[3], a[4], a[5]}
}

func exampleEmbedded(t *testing.T, keys *authority) *exampleBroker {
	t.Helper()
	certificate, err := tls.LoadX509KeyPair(keys.serverCertificate, keys.serverKey)
	require.NoError(t, err)
	secure := func(config *tls.Config) *testBroker {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		config.Certificates = []tls.Certificate{certificate}
		return newBrokerOn(t, &rules{}, tls.NewListener(listener, config))
	}
	plain := newBroker(t, &rules{})
	web, secureWeb := httptest.NewServer(plain.overWebSocket()), httptest.NewUnstartedServer(plain.overWebSocket())
	secureWeb.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	secureWeb.StartTLS()
	t.Cleanup(web.Close)
	t.Cleanup(secureWeb.Close)
	return &exampleBroker{
		plain:     plain.address,
		user:      newBroker(t, &rules{username: "sensor", password: "secret"}).address,
		tls:       secure(&tls.Config{}).address,
		mutual:    secure(&tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: keys.pool}).address,
		web:       web.Listener.Addr().String(),
		secureWeb: secureWeb.Listener.Addr().String(),
	}
}

// overWebSocket returns a handler that serves MQTT over WebSocket.
func (b *testBroker) overWebSocket() http.Handler {
	upgrader := websocket.Upgrader{Subprotocols: []string{"mqtt"}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		socket, err := upgrader.Upgrade(w, r, nil)
		if err == nil && socket.Subprotocol() == "mqtt" {
			b.serve(mqtt.NewWeb(socket))
		}
	})
}

// authority is a certificate authority that issued a server and a client certificate. The strings
// are file paths.
type authority struct {
	certificate, serverCertificate, serverKey, clientCertificate, clientKey string
	pool                                                                    *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	now := time.Now()
	issue := func(name string, template, issuer *x509.Certificate, signer *ecdsa.PrivateKey) (
		certificate *x509.Certificate, key *ecdsa.PrivateKey, certificateFile, keyFile string,
	) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		if issuer == nil {
			issuer, signer = template, key
		}
		template.SerialNumber = big.NewInt(now.UnixNano())
		template.Subject = pkix.Name{CommonName: name}
		template.NotBefore, template.NotAfter = now.Add(-time.Hour), now.Add(time.Hour)
		der, err := x509.CreateCertificate(rand.Reader, template, issuer, &key.PublicKey, signer)
		require.NoError(t, err)
		certificate, err = x509.ParseCertificate(der)
		require.NoError(t, err)
		private, err := x509.MarshalPKCS8PrivateKey(key)
		require.NoError(t, err)
		return certificate, key, write(name+".pem", "CERTIFICATE", der), write(name+".key", "PRIVATE KEY", private)
	}
	a := &authority{pool: x509.NewCertPool()}
	root, rootKey, file, _ := issue("authority", &x509.Certificate{
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil, nil)
	a.certificate = file
	a.pool.AddCert(root)
	_, _, a.serverCertificate, a.serverKey = issue("server", &x509.Certificate{
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, root, rootKey)
	_, _, a.clientCertificate, a.clientKey = issue("client", &x509.Certificate{
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, root, rootKey)
	return a
}

package send

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"
	"go.k6.io/k6/v2/lib/netext"
	"golang.org/x/net/http2"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
)

// Regression: the account of such a run said "closed", and asked whether the ingest wants https.
func TestAnAnswerThatIsCutIsNamed(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"HTTP/1.1 202 A\r\nContent-Length: 50\r\n\r\nok": "the answer (HTTP 202) ended after 2 of 50 bytes of its body",
		"HTTP/1.1 202 A\r\nContent-Length: 90000\r\n\r\nok": "the answer (HTTP 202) ended after 2 of 90000 bytes of " +
			"its body",
		"HTTP/1.1 400 B\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nok": "the answer (HTTP 400) ended after 2 bytes of " +
			"its body",
		"HTTP/1.1 202 A\r\nContent-Le": "the answer ended in its header",
	} {
		a := newTestPoster(t, serveCanned(t, text+hangsUp).url, keep, longTimeout).Post(time.Now(), nil, 1)
		outcome, class, example := a.Outcome(longTimeout)
		assert.Equal(t, ledger.Unknown, outcome)
		assert.Equal(t, classCut+": "+says, class+": "+example)
	}
}

// Regression: the report had the compressed bytes.
func TestARefusalIsDecoded(t *testing.T) {
	t.Parallel()
	const says = `{"error":"the field id is missing"}`
	var zip, flate bytes.Buffer
	writer := gzip.NewWriter(&zip)
	_, _ = writer.Write([]byte(says))
	require.NoError(t, writer.Close())
	_, err := fasthttp.WriteDeflate(&flate, []byte(says))
	require.NoError(t, err)
	bomb := fasthttp.AppendGzipBytes(nil, bytes.Repeat([]byte("x"), 50<<20))
	for name, c := range map[string]struct {
		encoding string
		body     []byte
		example  string
	}{
		"gzip":          {"gzip", zip.Bytes(), says},
		"capitals":      {"GZIP", zip.Bytes(), says},
		"deflate":       {"deflate", flate.Bytes(), says},
		"br":            {"br", fasthttp.AppendBrotliBytes(nil, []byte(says)), says},
		"zstd":          {"zstd", fasthttp.AppendZstdBytes(nil, []byte(says)), says},
		"none":          {"identity", []byte(says), says},
		"not gzip":      {"gzip", []byte("plain"), "(5 bytes in gzip that can't be read)"},
		"two encodings": {"gzip, br", []byte("12345"), "(5 bytes in gzip, br that can't be read)"},
		"much":          {"gzip", bomb, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := ingest(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", c.encoding)
				w.WriteHeader(http.StatusBadRequest)
				_, _ = w.Write(c.body)
			})
			a := newTestPoster(t, url, keep, longTimeout).Post(time.Now(), nil, 1)
			outcome, class, example := a.Outcome(longTimeout)
			assert.Equal(t, ledger.Rejected, outcome)
			assert.Equal(t, "HTTP 400", class)
			if c.example != "" {
				assert.Equal(t, c.example, example)
			}
			assert.LessOrEqual(t, len(a.Body()), bodyKept)
		})
	}
}

// Regression: it was advised to look at its certificate.
func TestAServerOfHTTP2OnlyIsNamed(t *testing.T) {
	t.Parallel()
	serve := func(t *testing.T, config *tls.Config) (address string) {
		t.Helper()
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = listener.Close() })
		if config != nil {
			listener = tls.NewListener(listener, config)
		}
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_ = http2.NewFramer(conn, conn).WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1 << 14})
				_, _ = io.Copy(io.Discard, conn) // until the sender hangs up
				_ = conn.Close()
			}
		}()
		return listener.Addr().String()
	}
	config := certified(t)
	config.NextProtos = []string{"h3"} // crypto/tls lets HTTP/1.1 in where it offers h2
	for url, says := range map[string]string{
		"http://" + serve(t, nil):     "the server speaks HTTP/2 only, and these requests are HTTP/1.1",
		"https://" + serve(t, config): "the server offers no HTTP/1.1 (ALPN), as one that speaks HTTP/2 only",
	} {
		p := newTestPoster(t, url, keep, longTimeout)
		p.network = network.Network{
			Dialer: netext.NewDialer(net.Dialer{}, nil), TLS: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a test
		}
		outcome, class, example := p.Post(time.Now(), nil, 1).Outcome(longTimeout)
		assert.Equal(t, ledger.Rejected, outcome)
		assert.Equal(t, "no HTTP/1.1: "+says, class+": "+example)
	}
}

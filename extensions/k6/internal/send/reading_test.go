package send

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
)

func TestEachKindOfAnswerIsRead(t *testing.T) {
	t.Parallel()
	const thrice = "202 ok, 202 ok, 202 ok"
	ok := "HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok"
	long := strings.Repeat("x", 20_000)
	for name, c := range map[string]struct {
		texts       []string
		want        string // status and body of each answer, or the class of its error
		connections int64
	}{
		"same answer each time": {[]string{ok}, thrice, 1},
		"other answer each time": {
			[]string{ok, "HTTP/1.1 400 Bad\r\nContent-Length: 3\r\n\r\nbad", ok}, "202 ok, 400 bad, 202 ok", 1,
		},
		"in pieces": {[]string{"HTTP/1.1 20|2 Accepted\r\nContent-|Length: 2\r\n\r|\no|k"}, thrice, 1},
		"header first, body later": {
			[]string{ok, "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\n|busy", ok}, "202 ok, 503 busy, 202 ok", 1,
		},
		"longer than the buffer": {
			[]string{"HTTP/1.1 400 Bad\r\nContent-Length: 20000\r\n\r\n" + long, ok},
			"400 " + long + ", 202 ok, 202 ok", 1,
		},
		"shorter answer follows": {
			[]string{
				"HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 40\r\n\r\n" + long[:40],
				"HTTP/1.1 202 \r\nContent-Length: 0\r\n\r\n",
			},
			"503 " + long[:40] + ", 202 , 202 ", 1,
		},
		"no body": {[]string{ok, "HTTP/1.1 204 No Content\r\n\r\n", ok}, "202 ok, 204 , 202 ok", 1},
		"chunked": {
			[]string{"HTTP/1.1 202 A\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", ok}, thrice, 1,
		},
		"chunked, with a trailer": {
			[]string{"HTTP/1.1 202 A\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\nX-Sum: 1\r\n\r\n"},
			thrice, 1,
		},
		"body until the end": {[]string{"HTTP/1.1 202 A\r\n\r\nok" + hangsUp}, thrice, 3},
		"close": {
			[]string{"HTTP/1.1 202 A\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok" + hangsUp}, thrice, 3,
		},
		"close, capital C": {
			[]string{"HTTP/1.1 202 A\r\nConnection: Close\r\nContent-Length: 2\r\n\r\nok" + hangsUp}, thrice, 3,
		},
		"close, in a list": {
			[]string{"HTTP/1.1 202 A\r\nconnection: keep-alive ,\tCLOSE\r\nContent-Length: 2\r\n\r\nok"}, thrice, 3,
		},
		"close, in a second line": {
			[]string{"HTTP/1.1 202 A\r\nConnection: Keep-Alive\r\nConnection: Close\r\nContent-Length: 2\r\n\r\nok"},
			thrice, 3,
		},
		"close, in pieces": {
			[]string{"HTTP/1.1 202 A\r\nConnection: Cl|ose\r\nContent-Length: 2\r\n\r\nok"}, thrice, 3,
		},
		"close, then keep-alive": {
			[]string{"HTTP/1.1 202 A\r\nConnection: Close\r\nContent-Length: 2\r\n\r\nok", ok}, thrice, 2,
		},
		"another token than close": {
			[]string{"HTTP/1.1 202 A\r\nConnection: close-not, keep-alive\r\nContent-Length: 2\r\n\r\nok"}, thrice, 1,
		},
		"HTTP/1.0": {[]string{"HTTP/1.0 202 A\r\nContent-Length: 2\r\n\r\nok" + hangsUp}, thrice, 3},
		"interim answers first": {
			[]string{ok, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok, ok},
			thrice, 1,
		},
		"endless interim answers": {
			[]string{strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 20), ok}, "failed, 202 ok, 202 ok", 2,
		},
		"switching protocols": {
			[]string{"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n", ok},
			"101 , 202 ok, 202 ok", 2,
		},
		"unsolicited answer": {[]string{ok + "HTTP/1.1 500 Late\r\nContent-Length: 0\r\n\r\n", ok}, thrice, 2},
		"no answer":          {[]string{hangsUp, ok}, "closed, 202 ok, 202 ok", 2},
		"half a header":      {[]string{"HTTP/1.1 202 Acc" + hangsUp, ok}, "closed, 202 ok, 202 ok", 2},
		"half a body": {
			[]string{"HTTP/1.1 202 A\r\nContent-Length: 9\r\n\r\nok" + hangsUp, ok}, "closed, 202 ok, 202 ok", 2,
		},
		"unfinished chunks": {
			[]string{"HTTP/1.1 202 A\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n" + hangsUp, ok},
			"closed, 202 ok, 202 ok", 2,
		},
		// Regression: it counted as 200.
		"status 000": {[]string{"HTTP/1.1 000 None\r\nContent-Length: 2\r\n\r\nok", ok}, "failed, 202 ok, 202 ok", 2},
		"not HTTP":   {[]string{"SSH-2.0-OpenSSH_9.2\r\n\r\n", ok}, "failed, 202 ok, 202 ok", 2},
		"long header": {
			[]string{ok, "HTTP/1.1 202 A\r\nContent-Length: 2\r\nX: " + long + "\r\n\r\nok", ok}, thrice, 1,
		},
		"many fields": {
			[]string{"HTTP/1.1 202 A\r\nContent-Length: 2\r\n" + strings.Repeat("X-Y: "+long[:80]+"\r\n", 2000) +
				"\r\nok"},
			thrice, 1,
		},
		"long cookie, in pieces": {
			[]string{"HTTP/1.1 202 A\r\nSet-Cookie: a=" + long + "|" + long + "\r\n|Content-Length: 2\r\n\r\no|k"},
			thrice, 1,
		},
		"long trailer": {
			[]string{
				"HTTP/1.1 202 A\r\nTransfer-Encoding: chunked\r\n\r\n2;x=\"1\"\r\nok\r\n0\r\nX-Sum: " + long +
					"\r\n\r\n",
			},
			thrice, 1,
		},
		"long header, then none": {
			[]string{
				"HTTP/1.1 103 Early\r\nLink: " + long + "\r\n\r\n" + ok,
				"HTTP/1.1 400 Bad\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" + hangsUp, ok,
			},
			"202 ok, 400 , 202 ok", 2,
		},
		"no reason phrase":        {[]string{"HTTP/1.1 202\r\nContent-Length: 2\r\n\r\nok"}, thrice, 1},
		"HTTP/1.0 without length": {[]string{"HTTP/1.0 202 A\r\n\r\nok" + hangsUp}, thrice, 3},
		"304 with a length": {
			[]string{"HTTP/1.1 304 Same\r\nContent-Length: 7\r\n\r\n", ok}, "304 , 202 ok, 202 ok", 1,
		},
		"204 with a length": {
			[]string{"HTTP/1.1 204 None\r\nContent-Length: 7\r\n\r\n", ok}, "204 , 202 ok, 202 ok", 1,
		},
		"same length twice": {
			[]string{"HTTP/1.1 202 A\r\nContent-Length: 2\r\nX: 1\r\ncontent-length:2 \r\n\r\nok"}, thrice, 1,
		},
		"same length in a list": {[]string{"HTTP/1.1 202 A\r\nContent-Length: 2, 2\r\n\r\nok", ok}, thrice, 1},
		"same length in pieces": {
			[]string{"HTTP/1.1 202 A\r\nContent-Length: 2\r\nContent-|Length: 2\r\n\r|\no|k", ok}, thrice, 1,
		},
		"lengths after an interim": {
			[]string{"HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 202 A\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok"},
			thrice, 1,
		},
		"two lengths": {
			[]string{"HTTP/1.1 202 A\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok", ok},
			"failed, 202 ok, 202 ok", 2,
		},
		"two lengths in a list": {
			[]string{"HTTP/1.1 202 A\r\nContent-Length: 2, 3\r\n\r\nok", ok}, "failed, 202 ok, 202 ok", 2,
		},
		"length and chunks": {
			[]string{"HTTP/1.1 202 A\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"},
			thrice, 1,
		},
		"no length at all": {
			[]string{"HTTP/1.1 202 A\r\nContent-Length: two\r\n\r\nok", ok}, "failed, 202 ok, 202 ok", 2,
		},
		"chunks, HTTP/1.0": {
			[]string{"HTTP/1.0 202 A\r\nConnection: close\r\n\r\nok" + hangsUp, ok}, thrice, 2,
		},
		"a field in two lines": {
			[]string{"HTTP/1.1 202 A\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nok"}, thrice, 1,
		},
		"header too long": {
			[]string{"HTTP/1.1 202 A\r\nX: " + strings.Repeat("x", headerMost) + "\r\n\r\n", ok},
			"failed, 202 ok, 202 ok", 2,
		},
		// Regression: above 16 MiB the answer was "not HTTP".
		"long body": {
			[]string{"HTTP/1.1 202 A\r\nContent-Length: 40000\r\n\r\n" + long + long, ok},
			"202 " + (long + long)[:bodyKept] + ", 202 ok, 202 ok", 1,
		},
		"long chunks": {
			[]string{"HTTP/1.1 202 A\r\nTransfer-Encoding: chunked\r\n\r\n" +
				strings.Repeat("4e20\r\n"+long+"\r\n", 20) + "0\r\n\r\n", ok},
			"202 " + (long + long)[:bodyKept] + ", 202 ok, 202 ok", 1,
		},
		// Regression: a time-out, where k6/http and curl take them.
		"line feeds, no CR":            {[]string{"HTTP/1.1 202 A\nContent-Length: 2\n\nok"}, thrice, 1},
		"line feeds, no CR, in pieces": {[]string{"HTTP/1.1 202 A\nContent-|Length: 2\n|\no|k", ok}, thrice, 1},
		"a line feed, then CR":         {[]string{"HTTP/1.1 202 A\r\nContent-Length: 2\n\r\nok", ok}, thrice, 1},
		"line feeds only": {
			[]string{"HTTP/1.1 202 A\nContent-Length: 4\n\n\r\n\r\n", ok}, "202 \r\n\r\n, 202 ok, 202 ok", 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serveCanned(t, c.texts...)
			p := newTestPoster(t, server.url, keep, longTimeout)
			var got []string
			for range 3 {
				a := p.Post(time.Now(), []byte(`{"id":"1"}`), 1)
				if a.Err != nil {
					got = append(got, network.ClassOf(a.Err))
				} else {
					got = append(got, fmt.Sprintf("%d %s", a.Status, a.Body()))
				}
			}
			assert.Equal(t, c.want, strings.Join(got, ", "))
			assert.Equal(t, c.connections, server.connections.Load())
		})
	}
}

func TestTwoLengthsOfAnAnswerAreRefusedByTheirRule(t *testing.T) {
	t.Parallel()
	for _, fields := range []string{"Content-Length: 2\r\nContent-Length: 3", "Content-Length: 2, 3"} {
		server := serveCanned(t, "HTTP/1.1 202 A\r\n"+fields+"\r\n\r\nok")
		p := newTestPoster(t, server.url, keep, longTimeout)
		assert.ErrorContains(t, p.Post(time.Now(), nil, 1).Err, `"2" and "3", and has to be one (RFC 9110, 8.6)`)
	}
}

// canned is a connection on which these bytes come, and then the end.
type canned struct {
	net.Conn
	*strings.Reader
}

func (c canned) Read(b []byte) (int, error) { return c.Reader.Read(b) }

// Answers come from any server: whatever their bytes are, they are read or refused. go test -fuzz FuzzAnswer
// ./internal/send goes on from those here.
func FuzzAnswer(f *testing.F) {
	for _, answer := range []string{
		"HTTP/1.1 202 A\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 202 A\r\nContent-Length: -2\r\n\r\nok",
		"HTTP/1.1 202 A\r\nContent-Length: 99999999999999999999\r\n\r\nok", "HTTP/1.1 -1 A\r\n\r\n",
		"HTTP/1.1 202 A\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.1 202 A\nContent-Length: 2\n\nok\r\n\r\n",
		"HTTP/1.1 202 A\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nok",
		"\r\n\r\nHTTP/1.1 000\r\n\r\n", "\r\n\r\n",
		"HTTP/1.1 301 M\r\nLocation: ::\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 103 E\r\n\r\nHTTP/1.1 202\r\nContent-Length: 2, 2\r\n\r\n",
	} {
		f.Add(answer)
	}
	f.Fuzz(func(_ *testing.T, answer string) {
		o := Ingest{URL: "http://127.0.0.1:1", Path: "/", BatchPath: "/", KeepAlive: true}
		p := NewPoster(o, network.Network{}, time.Minute)
		for range 2 { // the second one may be read as the first was
			p.link = &link{Conn: canned{Reader: strings.NewReader(answer)}}
			p.reader.Reset(incoming{p.link})
			if p.read() == nil {
				p.redirect()
				p.reusable()
				p.RetryAfter(time.Now(), time.Second)
			}
		}
	})
}

package send

import (
	"bufio"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
)

// Regression: %2F was decoded, so that /api/exchanges/%2F/x arrived as /api/exchanges/x.
func TestAPathGoesOutAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"/api/exchanges/%2F/x", "//a", "/a/../b", "/%2e/./a", "/a?b=c&d=%20+&e", "/a%zz;v=1", "/?", "/a//?x=/../y",
		"/{a}|^\"",
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = listener.Close() })
		lines := make(chan string, 1)
		go func() {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(conn).ReadString('\n')
			lines <- line
			_ = conn.Close()
		}()
		p := newTestPoster(t, "http://"+listener.Addr().String()+"/under%2F/", Ingest{Path: path}, longTimeout)
		_ = p.Post(time.Now(), []byte("{}"), 1)
		assert.Equal(t, "POST /under%2F"+path+" HTTP/1.1\r\n", <-lines)
	}
}

func TestThePathNamesTheTarget(t *testing.T) {
	t.Parallel()
	o := Ingest{URL: "http://h/v1", Path: "/rooms/{{target}}/events?x=1", BatchPath: "/m",
		Headers: map[string]string{"X": Target}}
	require.NoError(t, o.Check())
	p := NewPoster(o, network.Network{}, time.Second)
	assert.True(t, p.Targeted())
	p.Target = []byte("room/7")
	p.compose([]byte("{}"), 1)
	assert.Regexp(t, `^POST /v1/rooms/room/7/events\?x=1 HTTP/1\.1\r\n`, string(p.packet))
	assert.Contains(t, string(p.packet), "X: {{target}}\r\n")
	p.compose([]byte("[{},{}]"), 2)
	assert.Regexp(t, `^POST /v1/m HTTP/1\.1\r\n`, string(p.packet))
	p = NewPoster(Ingest{URL: "http://h", Path: "/m", BatchPath: "/m"}, network.Network{}, time.Second)
	assert.False(t, p.Targeted())
}

func TestWhatNoRequestCanHaveIsRefused(t *testing.T) {
	t.Parallel()
	good := Ingest{
		URL: "http://h:1/v1", Path: "/m?a=b", BatchPath: "/m", Headers: map[string]string{"X-A": "é", "Host": "h"},
	}
	require.NoError(t, good.Check())
	for _, url := range []string{"http://h", "http://h/", "https://h:1/a/", "http://[::1]:80"} {
		o := good
		o.URL = url
		require.NoError(t, o.Check(), url)
	}
	for name, c := range map[string]struct {
		change func(*Ingest)
		want   string
	}{
		"no slash":            {func(o *Ingest) { o.Path = "m" }, "begin with /"},
		"empty":               {func(o *Ingest) { o.Path = "" }, "begin with /"},
		"space":               {func(o *Ingest) { o.Path = "/a b" }, "%20"},
		"line break":          {func(o *Ingest) { o.Path = "/a\r\nX: y" }, "%0D"},
		"not ASCII":           {func(o *Ingest) { o.BatchPath = "/é" }, "%C3"},
		"fragment":            {func(o *Ingest) { o.Path = "/a#b" }, "%23"},
		"placeholder":         {func(o *Ingest) { o.Path = "/a/{{id}}" }, "body"},
		"target twice":        {func(o *Ingest) { o.Path = "/{{target}}/{{target}}" }, "once"},
		"target of a batch":   {func(o *Ingest) { o.BatchPath = "/{{target}}" }, "ingest.batchPath"},
		"query of the URL":    {func(o *Ingest) { o.URL = "http://h?x=1" }, "INGEST_PATH"},
		"fragment of the URL": {func(o *Ingest) { o.URL = "http://h/#x" }, "#"},
		"space in the URL":    {func(o *Ingest) { o.URL = "http://h/a b" }, "%20"},
		"name with a colon":   {func(o *Ingest) { o.Headers = map[string]string{"X:": "1"} }, `"X:"`},
		"empty name":          {func(o *Ingest) { o.Headers = map[string]string{"": "1"} }, `""`},
		"name not ASCII":      {func(o *Ingest) { o.Headers = map[string]string{"é": "1"} }, `"é"`},
		"value in two lines":  {func(o *Ingest) { o.Headers = map[string]string{"X": "1\r\nY: 2"} }, "line break"},
		"value with NUL":      {func(o *Ingest) { o.Headers = map[string]string{"X": "\x00"} }, "control"},
		"Content-Length": {func(o *Ingest) { o.Headers = map[string]string{"content-length": "9"} },
			"content-length"},
		"Transfer-Encoding": {func(o *Ingest) { o.Headers = map[string]string{"Transfer-Encoding": "chunked"} },
			"Transfer-Encoding"},
		"twice": {func(o *Ingest) { o.Headers = map[string]string{"x-a": "1", "X-A": "2"} },
			"X-A and x-a"},
		"token": {func(o *Ingest) { o.Token = "a\nb" }, "INGEST_TOKEN"},
	} {
		o := good
		c.change(&o)
		err := o.Check()
		require.ErrorContains(t, err, c.want, name)
		assert.NotContains(t, strings.TrimSpace(err.Error()), "\n", name)
	}
}

// Regression: a server that repeats what was posted put the secrets of a path, a header field or a body into reports.
func TestWhatAServerRepeatsHasNoSecrets(t *testing.T) {
	t.Parallel()
	o := Ingest{
		Token: "hunter-1", Path: "/m?api_key=hunter%2D2&v=1&hunter-3", BatchPath: "/m",
		Headers: map[string]string{"X-Api-Key": "hunter-4", "Authorization": "Basic hunter-5", "X-Tenant": "someone"},
	}
	for text, want := range map[string]string{
		"Cannot POST /m?api_key=hunter%2D2&amp;v=1": "Cannot POST /m?api_key=…&amp;v=1",
		"Bearer hunter-1, hunter-2 hunter-3":        "Bearer …, … …",
		"hunter-4 of someone; Basic hunter-5":       "… of someone; …",
		"hunter-5":                                  "…",
		`{"got":{"password":"hunter-6","n":1}}`:     `{"got":{"password":"…","n":1}}`,
		`{\"Secret\": \"hunter-7\"}`:                `{\"Secret\": \"…\"}`,
		strings.Repeat("x", 150) + "   hunter-1":    strings.Repeat("x", 150) + " …",
		strings.Repeat("x", 156) + "hunter-1":       strings.Repeat("x", 156) + "…",
	} {
		a := Result{Status: 404, Body: func() []byte { return []byte(text) }, Secrets: o.Secrets()}
		assert.Equal(t, want, a.Excerpt(), text)
		assert.NotContains(t, a.Describe(), "hunter")
	}
}

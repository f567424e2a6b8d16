package engine

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"go.k6.io/k6/v2/lib"
	"golang.org/x/net/http/httpproxy"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/send"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// withK6 returns the ingest's settings with those options of k6 that a sender honours by itself: noConnectionReuse and
// noVUConnectionReuse (each request has a connection), discardResponseBodies and userAgent. rps is the sender's
// limiter; hosts, DNS, blocked and local addresses come with k6's dialer, and the options of TLS with its
// configuration.
func withK6(ingest send.Ingest, o lib.Options) send.Ingest {
	if o.NoConnectionReuse.Bool || o.NoVUConnectionReuse.Bool {
		ingest.KeepAlive = false
	}
	ingest.DiscardBodies = o.DiscardResponseBodies.Bool
	if !o.UserAgent.Valid {
		return ingest
	}
	headers := map[string]string{"User-Agent": o.UserAgent.String}
	for name, value := range ingest.Headers { // the script's own comes first
		if strings.EqualFold(name, "User-Agent") {
			delete(headers, "User-Agent")
		}
		headers[name] = value
	}
	ingest.Headers = headers
	return ingest
}

// onlyHTTP are options of k6/http that the extension's own sender can't honour.
var onlyHTTP = []struct {
	name, variable string
	set            func(o lib.Options) bool
	why            string
}{
	{"batch", "K6_BATCH", func(o lib.Options) bool { return o.Batch.Valid }, "sends one request at a time"},
	{
		"batchPerHost", "K6_BATCH_PER_HOST", func(o lib.Options) bool { return o.BatchPerHost.Valid },
		"sends one request at a time",
	},
	{
		"httpDebug", "K6_HTTP_DEBUG", func(o lib.Options) bool { return o.HTTPDebug.String != "" },
		"prints no requests",
	},
	{
		"maxRedirects", "K6_MAX_REDIRECTS",
		func(o lib.Options) bool { return o.MaxRedirects.Valid && o.MaxRedirects.Int64 > 0 },
		"follows no redirect (0 is allowed)",
	},
	{
		"noCookiesReset", "K6_NO_COOKIES_RESET", func(o lib.Options) bool { return o.NoCookiesReset.Bool },
		"keeps no cookies",
	},
	{
		"throw", "K6_THROW", func(o lib.Options) bool { return o.Throw.Bool },
		"counts failed requests and does not throw",
	},
}

// checkSender refuses what run.send() and run.pump() can't do, where a script calls them. Options that a script sets
// are not known earlier: k6 reads them after the init context.
func (o *Options) checkSender(k6 lib.Options, environment *httpproxy.Config) error {
	if o.Publishers != nil {
		if k6.RPS.Int64 > 0 {
			return errors.New("rps (K6_RPS) limits requests of HTTP, and publishers send by MQTT, as fast as the " +
				"profile says: leave it out")
		}
		return nil
	}
	for _, option := range onlyHTTP {
		if option.set(k6) {
			return fmt.Errorf("%s (%s) is set for k6/http, and the native sender (run.send, run.pump) %s: "+
				"leave it out, or send by run.next() and k6/http", option.name, option.variable, option.why)
		}
	}
	if host := proxied(o.Ingest.URL, environment); host != "" {
		return fmt.Errorf("ingest.url (INGEST_URL) %s would be reached through the proxy of HTTP_PROXY or "+
			"HTTPS_PROXY, which the native sender (run.send, run.pump) does not use: add %s to NO_PROXY",
			words.Mask(o.Ingest.URL), host)
	}
	return nil
}

// checkFirstSender refuses a run whose first sender is native and will be refused, before anything is connected. It
// waits for that sender if k6 has such options.
func (e *Engine) checkFirstSender(ctx context.Context, k6 lib.Options) error {
	if e.external != nil {
		return nil
	}
	err := e.options.checkSender(k6, httpproxy.FromEnvironment())
	if err == nil {
		return nil
	}
	late := clock.SleepUntil(ctx, e.attendance.come, time.Now().Add(firstSenderMost))
	if late || e.parts.Scripted.Load() {
		return nil
	}
	return err
}

// checkReceivers refuses servers that the environment wants to be reached through a proxy, which receivers do not use.
func (o *Options) checkReceivers(environment *httpproxy.Config) error {
	for _, server := range o.from.Servers {
		at := strings.Replace(server.URL, "ws", "http", 1) // a WebSocket has the proxy of its HTTP
		if host := proxied(at, environment); host != "" && server.Direct {
			return fmt.Errorf("%s would be reached through the proxy of HTTP_PROXY or HTTPS_PROXY, "+
				"which only k6/http uses: add %s to NO_PROXY", server.Option, host)
		}
	}
	return nil
}

// proxied returns the host of a server that the environment wants to be reached through a proxy; empty: it does not.
func proxied(server string, environment *httpproxy.Config) string {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return "" // refused elsewhere, or not set
	}
	if proxy, err := environment.ProxyFunc()(u); proxy == nil && err == nil {
		return ""
	}
	return u.Hostname()
}

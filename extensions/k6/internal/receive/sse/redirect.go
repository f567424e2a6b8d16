package sse

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// redirectsMost is how many redirects a request follows.
const redirectsMost = 10

// redirect prepares a request that follows a redirect. The fields of the options may have secrets, so they stay with
// the origin of the options' address. So does that address, whose query may have one.
func (l *line) redirect(next *http.Request, before []*http.Request) error {
	if len(before) >= redirectsMost {
		return fmt.Errorf("more than %d redirects", redirectsMost)
	}
	next.Header.Del("Referer")
	for _, r := range append(before[1:], next) { // once away, they do not come back: the other server chose where to
		if origin(r.URL) == origin(before[0].URL) {
			continue
		}
		for name := range l.options.Headers {
			next.Header.Del(name)
		}
		next.Host = next.URL.Host
		next.Header.Set("Accept", eventStream)
		next.Header.Set("Cache-Control", "no-store")
		break
	}
	return nil
}

// astray says that an answer came from another origin, which did not get the fields of the options; empty: it did not.
func (l *line) astray(from *url.URL) string {
	asked, err := url.Parse(l.client.URL)
	if err != nil || len(l.options.Headers) == 0 || origin(asked) == origin(from) {
		return ""
	}
	return fmt.Sprintf(" (redirected to %s, which gets no sse.headers, CLIENT_HEADERS: set sse.url, SSE_URL, to it)",
		words.Printable(origin(from)))
}

// origin is the scheme, the host and the port of an address.
func origin(of *url.URL) string {
	port := of.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[of.Scheme]
	}
	return of.Scheme + "://" + net.JoinHostPort(strings.ToLower(of.Hostname()), port)
}

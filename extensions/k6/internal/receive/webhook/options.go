// Package webhook is the source of a run whose messages arrive as HTTP requests: a listener of the run, which the
// pipeline calls.
package webhook

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/arrival-bench/arrival/extensions/k6/internal/address"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// Options are the settings of the listener; index.d.ts documents them. Empty values have the defaults of complete.
type Options struct {
	Address string `json:"address"`
	Path    string `json:"path"`
	URL     string `json:"url"` // the URL at which the pipeline reaches the listener
	Status  *int   `json:"status"`
	Late    Late   `json:"late"`
	Refuse  Refuse `json:"refuse"`
	Hops    string `json:"hops"` // the field with the stamps
	Secret  string `json:"secret"`
	// a header field with the HMAC of the body: X-Hub-Signature-256: sha256={{sha256:hex}}; empty: Standard Webhooks'
	Signature string `json:"signature"`
	Cert      string `json:"cert"` // PEM; with Key: the listener speaks HTTPS
	Key       string `json:"key"`
}

// Late delays the answers to a share of the calls.
type Late struct {
	Share   float64 `json:"share"`
	Seconds float64 `json:"seconds"`
}

// Refuse refuses a share of the calls.
type Refuse struct {
	Share  float64 `json:"share"`
	Status *int    `json:"status"`
}

// lateMost is the longest delay of an answer, in s.
const lateMost = 300

// complete returns the options with their defaults.
func (o *Options) complete() Options {
	all := *o
	if all.Address == "" {
		all.Address = "127.0.0.1:0"
	}
	if all.Path == "" {
		all.Path = "/"
	}
	if all.Hops == "" {
		all.Hops = "arrival-hops"
	}
	if all.Status == nil {
		all.Status = new(http.StatusNoContent)
	}
	if all.Refuse.Status == nil {
		all.Refuse.Status = new(http.StatusServiceUnavailable)
	}
	return all
}

var (
	headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$") // RFC 9110, 5.6.2
	hostName   = regexp.MustCompile(`^[A-Za-z0-9_.-]*$`)
)

// Check implements receive.Source.
func (o *Options) Check(p *profile.Profile) error {
	all := o.complete()
	for _, f := range p.Flows {
		if f.Deliveries != 1 {
			return fmt.Errorf("webhook: a pipeline calls it once for each message, but flow %q has %d deliveries",
				f.Name, f.Deliveries)
		}
	}
	for _, wrong := range []func() error{all.checkAddress, all.checkAnswers, all.checkHeaders, all.checkTLS} {
		if err := wrong(); err != nil {
			return err
		}
	}
	return nil
}

func (o *Options) checkAddress() error {
	host, port, err := net.SplitHostPort(o.Address)
	number, notNumber := strconv.Atoi(port)
	switch {
	case err != nil || notNumber != nil || number < 0 || number > 65535, !hostName.MatchString(host) &&
		net.ParseIP(host) == nil:
		return fmt.Errorf("webhook.address (WEBHOOK_ADDRESS) %q is not where a listener can be; allowed: "+
			"127.0.0.1:9000, :9000 for all addresses of this host, port 0 for a free one", o.Address)
	case !strings.HasPrefix(o.Path, "/") || strings.ContainsAny(o.Path, "?# \t\r\n"):
		return fmt.Errorf("webhook.path (WEBHOOK_PATH) %q is not the path of a URL, like /hooks", o.Path)
	case o.URL == "":
		return nil
	}
	where, _, _ := strings.Cut(o.URL, "?")
	if _, err := address.Parse(address.HTTP, where); err != nil {
		return fmt.Errorf("webhook.url (WEBHOOK_URL) is not where a pipeline can call: %w", err)
	}
	return nil
}

func (o *Options) checkAnswers() error {
	late, refuse := o.Late, o.Refuse
	switch {
	case *o.Status < 200 || *o.Status > 299:
		return fmt.Errorf("webhook.status %d: 200 to 299 are allowed; webhook.refuse is for calls that are refused",
			*o.Status)
	case late.Share < 0 || late.Share > 1:
		return fmt.Errorf("webhook.late.share %v is outside 0 to 1", late.Share)
	case late.Seconds < 0 || late.Seconds > lateMost:
		return fmt.Errorf("webhook.late.seconds %v is outside 0 to %d", late.Seconds, lateMost)
	case (late.Share > 0) != (late.Seconds > 0):
		return errors.New("webhook.late has a share and seconds, both above 0: { share: 0.01, seconds: 2 }")
	case refuse.Share < 0 || refuse.Share > 1:
		return fmt.Errorf("webhook.refuse.share %v is outside 0 to 1", refuse.Share)
	case *refuse.Status < 300 || *refuse.Status > 599:
		return fmt.Errorf("webhook.refuse.status %d is outside 300 to 599", *refuse.Status)
	}
	return nil
}

func (o *Options) checkHeaders() error {
	if !headerName.MatchString(o.Hops) {
		return fmt.Errorf("webhook.hops (HOPS) %q is not the name of a header field", o.Hops)
	}
	if o.Signature != "" {
		_, err := parseSignature(o.Signature, o.Secret)
		return err
	}
	if o.Secret == "" {
		return nil
	}
	const allowed = "allowed: whsec_ and base64, as Standard Webhooks write it"
	key, err := standardwebhooks.NewWebhook(o.Secret)
	if err != nil {
		return errors.New("webhook.secret (WEBHOOK_SECRET) is not base64; " + allowed)
	}
	if strings.TrimPrefix(o.Secret, "whsec_") == "" || key == nil {
		return errors.New("webhook.secret (WEBHOOK_SECRET) has no bytes; " + allowed)
	}
	return nil
}

func (o *Options) checkTLS() error {
	if o.Cert == "" && o.Key == "" {
		return nil
	}
	if _, err := tls.X509KeyPair([]byte(o.Cert), []byte(o.Key)); err != nil {
		return fmt.Errorf("webhook.cert and webhook.key are not a certificate and its key, "+
			"each the text of a PEM file: %w", err)
	}
	return nil
}

// Describe implements receive.Source.
func (o *Options) Describe() receive.Description {
	all := o.complete()
	return receive.Description{
		Words: fmt.Sprintf("no call came to the webhook %s (webhook.address, WEBHOOK_ADDRESS): "+
			"does the pipeline reach it there?",
			words.Mask(all.url(all.Address))),
		Connections: 1, Files: connectionsMost, Headers: "header fields",
		Unshareable: "webhook is set, and a pipeline calls one URL, so one instance would get the messages of all",
	}
}

// Known is the URL of the webhook before it listens; empty: its port is not chosen yet.
func (o *Options) Known() string {
	all := o.complete()
	if _, port, err := net.SplitHostPort(all.Address); all.URL == "" && (err != nil || port == "0") {
		return ""
	}
	return all.url(all.Address)
}

// url is by which a pipeline calls the listener at an address.
func (o *Options) url(at string) string {
	if o.URL != "" {
		return o.URL
	}
	scheme := "http://"
	if o.Cert != "" {
		scheme = "https://"
	}
	host, port, _ := net.SplitHostPort(at)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return scheme + net.JoinHostPort(host, port) + o.Path
}

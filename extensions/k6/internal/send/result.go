package send

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// Result is the result of an attempt: a status, or an error; neither if a script reports that there was no
// answer.
type Result struct {
	Status int
	Err    error
	Class  string        // the class of Err; empty: network.ClassOf finds it
	Body   func() []byte // returns the body of an answer with a status
	To     *url.URL      // where a redirect leads; nil: no redirect
	Done   time.Time     // when it had been read
	// Came is when the last bytes that were read came; zero: the Poster has no Stamps.
	Came socket.Arrival
	// Left is when the request left: just before its first byte was written, without the time of connecting.
	Left time.Time
	// Written is when the whole request had been written, without the time of connecting; zero: not known. What the
	// generator loses between the two, as when it is paused, may lie before the wire or behind it.
	Written time.Time
	// Resent reports that the server had closed the connection before the request came, which then went out again over
	// another one.
	Resent bool

	Secrets *strings.Replacer // takes them out of what is shown; nil: there are none
}

// Arrival is the arrival of the answer.
func (a Result) Arrival() socket.Arrival {
	if a.Came.At.IsZero() {
		return socket.Arrival{At: a.Done, Waited: socket.Unknown}
	}
	return a.Came
}

// DialError means that a request was not sent because there was no connection.
type DialError struct{ Cause error }

func (e *DialError) Error() string { return e.Cause.Error() }

func (e *DialError) Unwrap() error { return e.Cause }

// answerError is an error with a class of its own.
type answerError struct {
	class, text string
	cause       error // nil: none
}

func (e *answerError) Error() string { return e.text }

func (e *answerError) Unwrap() error { return e.cause }

const (
	classCut     = "answer cut"
	classVersion = "no HTTP/1.1"
)

// Errors of a server that does not speak the sender's version of HTTP: what it sends, and what it offers.
var (
	errVersion = &answerError{class: classVersion,
		text: "the server speaks HTTP/2 only, and these requests are HTTP/1.1"}
	errOffer = &answerError{class: classVersion,
		text: "the server offers no HTTP/1.1 (ALPN), as one that speaks HTTP/2 only"}
)

// Outcome returns the outcome of an attempt for its messages, and its error class and example, which are empty if it
// was accepted. timeout is the request's.
func (a Result) Outcome(timeout time.Duration) (outcome ledger.Outcome, class, example string) {
	switch {
	case a.Status >= 200 && a.Status < 300:
		return ledger.Accepted, "", ""
	case a.Status == http.StatusBadGateway || a.Status == http.StatusGatewayTimeout:
		// A gateway's answer says nothing about the ingest behind it.
		return ledger.Unknown, a.status(), a.Excerpt()
	case a.To != nil:
		// A class for each server: paths may differ from message to message.
		return ledger.Rejected, "redirect to " + a.To.Scheme + "://" + a.To.Host, a.Describe()
	case a.Status != 0:
		return ledger.Rejected, a.status(), a.Excerpt()
	case a.Err == nil:
		return ledger.Unknown, "no answer", "the script settled the request with status 0"
	}
	class = a.classOf()
	example = network.Advise(a.Err).Error()
	var dial *DialError
	switch {
	case class == "TLS", class == classVersion:
		return ledger.Rejected, class, example
	case errors.As(a.Err, &dial):
		return ledger.Rejected, "no connection: " + class, example
	case class == "timeout":
		example = fmt.Sprintf("no answer within %s", timeout)
	}
	return ledger.Unknown, class, example
}

// classOf names the cause of the error.
func (a Result) classOf() string {
	var known *answerError
	switch {
	case a.Class != "":
		return a.Class
	case errors.As(a.Err, &known):
		return known.class
	}
	return network.ClassOf(a.Err)
}

func (a Result) status() string { return "HTTP " + strconv.Itoa(a.Status) }

// Describe says in one line what came: the status with the start of the body, or with the address of a redirect.
func (a Result) Describe() string {
	if a.To != nil {
		return a.status() + " to " + words.Mask(a.To.Redacted())
	}
	return strings.TrimSpace(a.status() + " " + a.Excerpt())
}

// excerptMost is how many bytes of an answer are looked at for its excerpt. Secrets are taken out before the cut, which
// could leave the beginning of one.
const excerptMost = 4 << 10

// Excerpt is the start of an answer's body, in one line.
func (a Result) Excerpt() string {
	b := a.Body()
	text := string(b[:min(len(b), excerptMost)])
	if a.Secrets != nil {
		text = a.Secrets.Replace(text)
	}
	text = words.MaskMembers(strings.Join(strings.Fields(text), " "))
	const most = 160
	if len(text) > most || len(b) > excerptMost {
		text = strings.ToValidUTF8(text[:min(len(text), most)], "") + " …"
	}
	return text
}

// delay is a number of seconds. RFC 9110 (10.2.3) has whole ones, and some servers send a fraction.
var delay = regexp.MustCompile(`^\d+(\.\d+)?$`)

// RetryAfter returns how long the last answer asks to wait, at most this long; 0: it does not say, or the time has
// passed. now is the time of the answer. A date is compared with the server's own Date, whose clock may differ from
// ours.
func (p *Poster) RetryAfter(now time.Time, most time.Duration) time.Duration {
	text := p.Header("Retry-After")
	if delay.MatchString(text) {
		seconds, _ := strconv.ParseFloat(text, 64) // infinite if it is too large
		return time.Duration(min(seconds, most.Seconds()) * float64(time.Second))
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(p.Header("Date")); err == nil {
		now = date
	}
	return min(max(0, until.Sub(now)), most)
}

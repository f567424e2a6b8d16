package arrival

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
)

// answer is what came of an attempt: a status, or an error; neither where a script says that there was no answer.
type answer struct {
	status int
	err    error
	class  string        // of err; empty: classOf knows it
	body   func() []byte // of an answer with a status
	done   time.Time     // when it was there
}

// dialError says that a request did not leave, because there was no connection.
type dialError struct{ error }

func (e *dialError) Unwrap() error { return e.error }

// errAgain says that another attempt may help.
var errAgain = errors.New("try again")

// answered counts one attempt and says what it means for the messages.
func (e *engine) answered(slot pacer.Slot, a answer, sent time.Time) ledger.Outcome {
	if a.status != 0 {
		e.Ledger.Answered(slot.Phase, a.done.Sub(sent).Microseconds())
	}
	switch {
	case a.status >= 200 && a.status < 300:
		return ledger.Accepted
	case a.status == http.StatusBadGateway || a.status == http.StatusGatewayTimeout:
		// A gateway's word says nothing of what stands behind it.
		e.count("request", "HTTP "+strconv.Itoa(a.status), excerpt(a.body()))
		return ledger.Unknown
	case a.status != 0:
		e.count("request", "HTTP "+strconv.Itoa(a.status), excerpt(a.body()))
		return ledger.Rejected
	case a.err == nil:
		e.count("request", "no answer", "the script settled the request with status 0")
		return ledger.Unknown
	}
	var dial *dialError
	left := !errors.As(a.err, &dial)
	class := a.class
	if class == "" {
		class = classOf(a.err)
	}
	if !left && class != "TLS" {
		class = "no connection: " + class
	}
	example := advise(a.err).Error()
	if class == "timeout" {
		example = fmt.Sprintf("no answer within %s", e.options.Timeout.duration())
	}
	e.count("request", class, example)
	if left && class != "TLS" {
		return ledger.Unknown
	}
	return ledger.Rejected
}

// classOf names the cause of an error as operators know it.
func classOf(err error) string {
	var (
		name        *net.DNSError
		timeout     net.Error
		certificate *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		record      tls.RecordHeaderError
		alert       tls.AlertError
	)
	switch {
	case errors.As(err, &certificate), errors.As(err, &authority), errors.As(err, &record), errors.As(err, &alert):
		return "TLS"
	case errors.As(err, &name):
		return "name not resolved"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "reset"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "closed"
	}
	return "failed"
}

// excerpt is the start of an answer, in one line.
func excerpt(b []byte) string {
	const most = 160
	text := strings.Join(strings.Fields(string(b[:min(len(b), most)])), " ")
	if len(b) > most {
		text += " …"
	}
	return text
}

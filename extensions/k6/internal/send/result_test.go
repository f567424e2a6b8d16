package send_test

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/send"
)

func TestWhatAnAnswerMeansForItsMessages(t *testing.T) {
	t.Parallel()
	dial := func(err error) send.Result { return send.Result{Err: &send.DialError{Cause: err}} }
	for _, c := range []struct {
		answer  send.Result
		outcome ledger.Outcome
		class   string
		example string
	}{
		{send.Result{Status: 202}, ledger.Accepted, "", ""},
		{send.Result{Status: 400}, ledger.Rejected, "HTTP 400", "no such field"},
		{send.Result{Status: 502}, ledger.Unknown, "HTTP 502", "no such field"},
		{send.Result{}, ledger.Unknown, "no answer", "the script settled the request with status 0"},
		{send.Result{Err: io.EOF}, ledger.Unknown, "closed", "EOF"},
		{send.Result{Err: os.ErrDeadlineExceeded}, ledger.Unknown, "timeout", "no answer within 10s"},
		{send.Result{Err: errors.New("it says so"), Class: "reset"}, ledger.Unknown, "reset", "it says so"},
		{dial(syscall.ECONNREFUSED), ledger.Rejected, "no connection: refused", "connection refused"},
		{dial(os.ErrDeadlineExceeded), ledger.Rejected, "no connection: timeout", "i/o timeout"},
		{dial(x509.UnknownAuthorityError{}), ledger.Rejected, "TLS",
			"x509: certificate signed by unknown authority (ca, TLS_CA: the file of its authority)"},
	} {
		c.answer.Body = func() []byte { return []byte(" no such\nfield ") }
		outcome, class, example := c.answer.Outcome(10 * time.Second)
		assert.Equal(t, fmt.Sprint(c.outcome, c.class, c.example), fmt.Sprint(outcome, class, example))
	}
}

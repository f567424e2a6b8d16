package spans

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	rpc "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"

	"github.com/arrival-bench/arrival/extensions/k6/internal/callers"
)

func (r *Receiver) refuse(from string, err error) {
	r.keeper.Refuse()
	r.report("export refused", fmt.Sprintf("%s: %s", from, err))
}

// deny answers an export over HTTP that is not taken.
func (r *Receiver) deny(w http.ResponseWriter, q *http.Request, kind string, code int, err error) {
	r.refuse(q.RemoteAddr, err)
	w.Header().Set("Connection", "close")
	answer(w, code, kind, &rpc.Status{Message: err.Error()})
}

// denyGRPC answers an export over gRPC whose body was not read.
func (r *Receiver) denyGRPC(w http.ResponseWriter, q *http.Request, err error) {
	r.refuse(q.RemoteAddr, err)
	code := codes.Internal
	switch statusOf(err) {
	case http.StatusRequestEntityTooLarge:
		code = codes.ResourceExhausted
	case http.StatusServiceUnavailable:
		code = codes.Unavailable
	}
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Grpc-Status", strconv.Itoa(int(code)))
	w.Header().Set("Grpc-Message", strconv.QuoteToASCII(err.Error()))
}

// statusOf is the HTTP status for a body that was not read.
func statusOf(err error) int {
	switch {
	case errors.Is(err, callers.ErrTooLong):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, callers.ErrTooMany):
		return http.StatusServiceUnavailable // its exporter tries again
	}
	return http.StatusBadRequest
}

// acceptable says with which status an export over HTTP is refused before its body is read.
func acceptable(q *http.Request, kind string) (int, error) {
	encoding := strings.ToLower(q.Header.Get("Content-Encoding"))
	switch {
	case q.URL.Path != path:
		return http.StatusNotFound, fmt.Errorf("%s is not %s: only spans are taken", strconv.QuoteToASCII(q.URL.Path), path)
	case q.Method != http.MethodPost:
		return http.StatusMethodNotAllowed, fmt.Errorf("%s is not POST", q.Method)
	case kind != asJSON && kind != asProtobuf:
		return http.StatusUnsupportedMediaType, fmt.Errorf("content type %q; allowed: %s, %s", kind, asProtobuf, asJSON)
	case encoding != "" && encoding != "identity" && encoding != "gzip":
		return http.StatusUnsupportedMediaType, fmt.Errorf("content encoding %q; allowed: gzip, none", encoding)
	}
	return 0, nil
}

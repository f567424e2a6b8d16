// Package spans makes stages of the traces that a pipeline already has. The run is an OTLP endpoint (Receiver); the
// trace id of a span names its message (Mixing); a table of marks says which spans divide a message's time (Marks).
package spans

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"golang.org/x/net/netutil"
	rpc "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // exporters may compress
	_ "google.golang.org/grpc/encoding/proto"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Limits of one export, and of all that are read at once.
const (
	bodyMost        = 16 << 20 // bytes, uncompressed
	objectsMost     = 500_000  // of an export: a small body can have millions of empty ones
	headersMost     = 16 << 10 // bytes
	exportsMost     = 4        // at once; further ones wait
	connectionsMost = 256      // further ones wait
	streamsMost     = 8        // of a connection, in HTTP/2
	aheadMost       = 64 << 10 // bytes of an export that are read before its turn
	readMost        = 30 * time.Second
	turnMost        = 5 * time.Second // for the rest of an export whose turn it is
)

// path is where OTLP over HTTP takes spans.
const path = "/v1/traces"

// Receiver is an OTLP endpoint: HTTP with protobuf or JSON, and gRPC, on one port.
type Receiver struct {
	collector.UnimplementedTraceServiceServer
	keeper *Keeper
	report func(class, example string) // counts an error
	turns  chan struct{}
	http   *http.Server
	grpc   *grpc.Server
	done   chan struct{}
	on     *forwarder
	at     string
	once   sync.Once
}

// Listen opens the endpoint. fault gets what callers do wrong.
func Listen(ctx context.Context, address string, k *Keeper, fault func(class, example string)) (*Receiver, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("spans.listen (SPANS) %s can't be opened: %w", address, err)
	}
	r := &Receiver{
		keeper: k, report: fault, turns: make(chan struct{}, exportsMost), done: make(chan struct{}),
		at: listener.Addr().String(),
		grpc: grpc.NewServer(grpc.MaxRecvMsgSize(bodyMost),
			grpc.ForceServerCodecV2(codec{encoding.GetCodecV2("proto")})),
	}
	if r.on, err = forward(ctx, r.at, fault); err != nil {
		_ = listener.Close()
		return nil, err
	}
	collector.RegisterTraceServiceServer(r.grpc, r)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true) // gRPC without TLS
	r.http = &http.Server{
		Handler: r, Protocols: protocols, MaxHeaderBytes: headersMost, ReadHeaderTimeout: readMost,
		IdleTimeout: 2 * time.Minute, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: streamsMost},
		ErrorLog: log.New(io.Discard, "", 0), // of connections that end early
	}
	go func() {
		defer close(r.done)
		_ = r.http.Serve(netutil.LimitListener(listener, connectionsMost))
	}()
	return r, nil
}

// Address is where it listens.
func (r *Receiver) Address() string { return r.at }

// Close closes the endpoint and all connections.
func (r *Receiver) Close() {
	r.once.Do(func() {
		_ = r.http.Close()
		<-r.done
		for range exportsMost { // wait for those that are being taken
			r.turns <- struct{}{}
		}
		r.grpc.Stop()
		r.on.close()
	})
}

// ServeHTTP takes an export.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(readMost))
	readAhead(q)
	select {
	case r.turns <- struct{}{}:
		defer func() { <-r.turns }()
	case <-q.Context().Done():
		return
	}
	_ = connection.SetReadDeadline(time.Now().Add(turnMost))
	kind, _, _ := mime.ParseMediaType(q.Header.Get("Content-Type"))
	if q.ProtoMajor == 2 && strings.HasPrefix(kind, "application/grpc") {
		r.grpc.ServeHTTP(w, q)
		switch code := w.Header().Get("Grpc-Status"); code {
		case "0":
		case "":
			r.refuse(q.RemoteAddr, errors.New("the gRPC request broke off"))
		default:
			r.refuse(q.RemoteAddr, fmt.Errorf("gRPC status %s: %s", code, w.Header().Get("Grpc-Message")))
		}
		return
	}
	inJSON := kind == "application/json"
	request, code, err := read(q, kind)
	if err != nil {
		r.refuse(q.RemoteAddr, err)
		w.Header().Set("Connection", "close")
		answer(w, code, inJSON, &rpc.Status{Message: err.Error()})
		return
	}
	answer(w, http.StatusOK, inJSON, r.take(request))
}

// readAhead waits until the begin of a body has come: a slow sender would keep a turn from the others. What went wrong
// comes again when the rest is read.
func readAhead(q *http.Request) {
	begin, _ := io.ReadAll(io.LimitReader(q.Body, aheadMost))
	q.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(begin), q.Body), q.Body}
}

func (r *Receiver) refuse(from string, err error) {
	r.keeper.Refuse()
	r.report("export refused", fmt.Sprintf("%s: %s", from, err))
}

// read reads an export, or says with which status it is refused.
func read(q *http.Request, kind string) (*collector.ExportTraceServiceRequest, int, error) {
	switch {
	case q.URL.Path != path:
		return nil, http.StatusNotFound, fmt.Errorf("%s is not %s: only spans are taken",
			strconv.QuoteToASCII(q.URL.Path), path)
	case q.Method != http.MethodPost:
		return nil, http.StatusMethodNotAllowed, fmt.Errorf("%s is not POST", q.Method)
	case kind != "application/json" && kind != "application/x-protobuf":
		return nil, http.StatusUnsupportedMediaType,
			fmt.Errorf("content type %q; allowed: application/x-protobuf, application/json", kind)
	}
	body := io.Reader(http.MaxBytesReader(nil, q.Body, bodyMost))
	switch encoding := strings.ToLower(q.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
	case "gzip":
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return nil, http.StatusBadRequest, fmt.Errorf("the body is not gzip: %w", err)
		}
		body = unzipped
	default:
		return nil, http.StatusUnsupportedMediaType, fmt.Errorf("content encoding %q; allowed: gzip, none", encoding)
	}
	data, err := io.ReadAll(io.LimitReader(body, bodyMost+1))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large) || len(data) > bodyMost:
		return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("the body exceeds %d bytes", bodyMost)
	case err != nil:
		return nil, http.StatusBadRequest, fmt.Errorf("the body can't be read: %w", err)
	}
	request := &collector.ExportTraceServiceRequest{}
	if kind == "application/json" {
		err = FromJSON(data, request)
	} else {
		err = cmp.Or(countable(data, request), proto.Unmarshal(data, request))
	}
	if err != nil {
		return nil, http.StatusBadRequest, fmt.Errorf("the body is no export of spans: %w", err)
	}
	return request, 0, nil
}

// take keeps the spans, and says how many it did not take.
func (r *Receiver) take(request *collector.ExportTraceServiceRequest) *collector.ExportTraceServiceResponse {
	r.on.take(request.GetResourceSpans())
	response := &collector.ExportTraceServiceResponse{}
	dropped, malformed := r.keeper.Take(request.GetResourceSpans())
	var why []string
	if malformed > 0 {
		why = append(why, fmt.Sprintf("%d without ids or with times that can't be: "+
			"ids have 16 and 8 bytes, times are ns since 1970", malformed))
	}
	if dropped > 0 {
		why = append(why, fmt.Sprintf("%d without room: a run keeps %d spans", dropped, spansMost))
	}
	if len(why) > 0 {
		response.PartialSuccess = &collector.ExportTracePartialSuccess{
			RejectedSpans: int64(dropped + malformed), ErrorMessage: strings.Join(why, "; "),
		}
	}
	return response
}

// Export is the gRPC method.
func (r *Receiver) Export(_ context.Context,
	q *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	return r.take(q), nil
}

// answer writes a message in the encoding of the request.
func answer(w http.ResponseWriter, code int, inJSON bool, m proto.Message) {
	var data []byte
	if inJSON {
		data, _ = protojson.Marshal(m)
		w.Header().Set("Content-Type", "application/json")
	} else {
		data, _ = proto.Marshal(m)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}
	w.WriteHeader(code)
	_, _ = w.Write(data)
}

// loose reads OTLP of later versions too.
var loose = protojson.UnmarshalOptions{DiscardUnknown: true}

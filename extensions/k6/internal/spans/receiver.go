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
	"strings"
	"sync"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // exporters may compress
	_ "google.golang.org/grpc/encoding/proto"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/arrival-bench/arrival/extensions/k6/internal/callers"
)

// Limits of one export, and of all that are read at once.
const (
	bodyMost        = 16 << 20  // bytes, uncompressed
	objectsMost     = 500_000   // objects of one export: a small body can have millions of empty ones
	headersMost     = 16 << 10  // bytes
	bodiesMost      = 128 << 20 // bytes of all that are being read
	exportsMost     = 4         // decoded at once; further ones wait
	connectionsMost = 256
	streamsMost     = 8 // streams of a connection, in HTTP/2
	readMost        = 30 * time.Second
	frameHead       = 5 // bytes of gRPC before a message
)

// path is the path at which OTLP over HTTP takes spans.
const path = "/v1/traces"

// Receiver is an OTLP endpoint: HTTP with protobuf or JSON, and gRPC, on one port.
type Receiver struct {
	collector.UnimplementedTraceServiceServer
	keeper *Keeper
	report func(class, example string) // counts an error
	turns  chan struct{}
	room   *callers.Room
	http   *http.Server
	grpc   *grpc.Server
	done   chan struct{}
	on     *forwarder
	at     string
	once   sync.Once
	most   time.Duration // that reading an export may take
}

// Listen opens the endpoint. fault gets what callers do wrong.
func Listen(ctx context.Context, address string, k *Keeper, fault func(class, example string)) (*Receiver, error) {
	return listenFor(ctx, address, k, fault, readMost)
}

// listenFor is Listen, where reading an export takes so long at most.
func listenFor(ctx context.Context, address string, k *Keeper, fault func(class, example string),
	most time.Duration) (*Receiver, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("spans.listen (SPANS) %s can't be opened: %w", address, err)
	}
	r := &Receiver{
		keeper: k, report: fault, turns: make(chan struct{}, exportsMost), done: make(chan struct{}),
		at: listener.Addr().String(), most: most,
		grpc: grpc.NewServer(grpc.MaxRecvMsgSize(bodyMost),
			grpc.ForceServerCodecV2(codec{encoding.GetCodecV2("proto")})),
	}
	if r.on, err = forward(ctx, r.at, fault); err != nil {
		_ = listener.Close()
		return nil, err
	}
	r.room = callers.New(connectionsMost, bodiesMost, func(class, example string) {
		k.Refuse()
		fault(class, example)
	})
	collector.RegisterTraceServiceServer(r.grpc, r)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true) // gRPC without TLS
	r.http = &http.Server{
		Handler: r, Protocols: protocols, MaxHeaderBytes: headersMost, ReadHeaderTimeout: most,
		ConnContext: callers.Remember,
		IdleTimeout: 2 * time.Minute, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: streamsMost},
		ErrorLog: log.New(io.Discard, "", 0), // connections that end early are not errors
	}
	go func() {
		defer close(r.done)
		_ = r.http.Serve(r.room.Listen(listener))
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

// ServeHTTP takes an export. A body is read before its turn, which a slow sender would keep from the others.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(r.most))
	kind, _, _ := mime.ParseMediaType(q.Header.Get("Content-Type"))
	overGRPC := q.ProtoMajor == 2 && strings.HasPrefix(kind, "application/grpc")
	most := bodyMost
	if overGRPC {
		most += frameHead
	} else if code, err := acceptable(q, kind); err != nil {
		r.deny(w, q, kind, code, err)
		return
	}
	place := callers.Of(q.Context())
	call := place.Begin()
	defer call.End()
	body, err := call.Read(q.Body, most)
	switch {
	case err != nil && place.Evicted(): // the room has counted it
		return
	case err != nil && overGRPC:
		r.denyGRPC(w, q, err)
		return
	case err != nil:
		r.deny(w, q, kind, statusOf(err), err)
		return
	}
	select {
	case r.turns <- struct{}{}:
		defer func() { <-r.turns }()
	case <-q.Context().Done():
		return
	}
	if overGRPC {
		q.Body = io.NopCloser(bytes.NewReader(body))
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
	request, code, err := decode(body, kind, q.Header.Get("Content-Encoding"))
	if err != nil {
		r.deny(w, q, kind, code, err)
		return
	}
	answer(w, http.StatusOK, kind, r.take(request))
}

// Content types of OTLP over HTTP.
const (
	asJSON     = "application/json"
	asProtobuf = "application/x-protobuf"
)

// decode decodes the body of an acceptable export, or says with which status it is refused.
func decode(body []byte, kind, encoding string) (*collector.ExportTraceServiceRequest, int, error) {
	if strings.EqualFold(encoding, "gzip") {
		unzipped, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, http.StatusBadRequest, fmt.Errorf("the body is not gzip: %w", err)
		}
		body, err = io.ReadAll(io.LimitReader(unzipped, bodyMost+1))
		switch {
		case len(body) > bodyMost:
			return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("the body exceeds %d bytes", bodyMost)
		case err != nil:
			return nil, http.StatusBadRequest, fmt.Errorf("the body can't be read: %w", err)
		}
	}
	request := &collector.ExportTraceServiceRequest{}
	var err error
	if kind == asJSON {
		err = FromJSON(body, request)
	} else {
		err = cmp.Or(countable(body, request), proto.Unmarshal(body, request))
	}
	if err != nil {
		return nil, http.StatusBadRequest, fmt.Errorf("the body is not an export of spans: %w", err)
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
func answer(w http.ResponseWriter, code int, kind string, m proto.Message) {
	var data []byte
	if kind == asJSON {
		data, _ = protojson.Marshal(m)
		w.Header().Set("Content-Type", asJSON)
	} else {
		data, _ = proto.Marshal(m)
		w.Header().Set("Content-Type", asProtobuf)
	}
	w.WriteHeader(code)
	_, _ = w.Write(data)
}

// loose reads OTLP of later versions too.
var loose = protojson.UnmarshalOptions{DiscardUnknown: true}

// Package traces describes messages as OpenTelemetry traces, and writes them as OTLP.
package traces

import (
	"crypto/sha256"
	"encoding/hex"
)

// Header is the name of the W3C header field and of the MQTT 5 user property (pipeline/queue/frame.ts).
const Header = "traceparent"

// Context is the trace of a message, and the span that sends it.
type Context struct {
	Trace [16]byte
	Span  [8]byte
}

// Of returns the context of a message: the first 24 bytes of the SHA-256 of its id. The id is unique among all runs, so
// the context is too, and it need not be stored.
func Of(id string) (c Context) {
	sum := sha256.Sum256([]byte(id))
	copy(c.Trace[:], sum[:])
	copy(c.Span[:], sum[len(c.Trace):])
	return c
}

// TraceID is the trace in hexadecimal digits.
func (c Context) TraceID() string { return hex.EncodeToString(c.Trace[:]) }

// AppendParent adds the value of a traceparent header, with the flag `sampled` or without.
func (c Context) AppendParent(b []byte, sampled bool) []byte {
	b = hex.AppendEncode(append(b, "00-"...), c.Trace[:])
	b = hex.AppendEncode(append(b, '-'), c.Span[:])
	if sampled {
		return append(b, "-01"...)
	}
	return append(b, "-00"...)
}

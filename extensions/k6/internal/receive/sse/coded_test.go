package sse

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Regression: a stream in gzip was read as text, and nothing arrived.
func TestAStreamInAContentCodingIsRefusedByName(t *testing.T) {
	t.Parallel()
	answer := func(encoding string) *http.Response {
		return &http.Response{StatusCode: http.StatusOK, Request: &http.Request{URL: &url.URL{}}, Header: http.Header{
			"Content-Type": {"text/event-stream"}, "Content-Encoding": {encoding},
		}}
	}
	l := &line{options: &Options{}}
	assert.ErrorContains(t, l.accept("SSE_URL", answer("gzip")), "gzip")
	assert.ErrorContains(t, l.accept("SSE_URL", answer("br")), "br")
	assert.NoError(t, l.accept("SSE_URL", answer("identity")))
	assert.NoError(t, l.accept("SSE_URL", answer("Identity")))
}

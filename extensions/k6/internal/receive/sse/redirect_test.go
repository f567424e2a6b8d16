package sse

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive/push"
)

// server answers with a stream, or as answer does, and notes the header fields of its requests.
func server(t *testing.T, answer http.HandlerFunc) (url string, seen func() []http.Header) {
	t.Helper()
	got := make(chan http.Header, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() (all []http.Header) {
		for len(got) > 0 {
			all = append(all, <-got)
		}
		return all
	}
}

func stream(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", eventStream) }

// connect connects to an address with fields that have secrets.
func connect(t *testing.T, url string) error {
	t.Helper()
	o := &Options{Headers: map[string]string{"X-Api-Key": "k", "authorization": "Bearer t", "Accept": "*/*"}}
	l := o.line(push.Client{URL: url}, receive.Means{Network: network.Network{Dialer: &net.Dialer{}}}, time.Millisecond,
		new(atomic.Bool))
	t.Cleanup(l.Close)
	return l.Connect(t.Context())
}

// Regression: net/http keeps Authorization and Cookie from another host, but hands it all other fields.
func TestCustomFieldsStayWithTheirOrigin(t *testing.T) {
	t.Parallel()
	other, seen := server(t, stream)
	for _, status := range []int{301, 302, 303, 307, 308} {
		first, own := server(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other, status) })
		require.NoError(t, connect(t, first+"/?token=secret"))
		require.Len(t, own(), 1)
		all := seen()
		require.Len(t, all, 1, status)
		for _, name := range []string{"X-Api-Key", "Authorization", "Referer"} {
			assert.Empty(t, all[0].Get(name), "%d: %s", status, name)
		}
		assert.Equal(t, eventStream, all[0].Get("Accept"))
	}
}

func TestCustomFieldsFollowARedirectWithinTheirOrigin(t *testing.T) {
	t.Parallel()
	first, seen := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/stream", http.StatusFound)
			return
		}
		stream(w, r)
	})
	require.NoError(t, connect(t, first))
	all := seen()
	require.Len(t, all, 2)
	assert.Equal(t, "k", all[1].Get("X-Api-Key"))
	assert.Equal(t, "Bearer t", all[1].Get("Authorization"))
}

// Another server could choose a path that shows the fields.
func TestCustomFieldsDoNotComeBack(t *testing.T) {
	t.Parallel()
	var first string
	back, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, first+"/shown", http.StatusFound)
	})
	first, seen := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, back, http.StatusFound)
			return
		}
		stream(w, r)
	})
	require.NoError(t, connect(t, first))
	all := seen()
	require.Len(t, all, 2)
	assert.Empty(t, all[1].Get("X-Api-Key"))
}

func TestARefusalElsewhereNamesTheFieldsThatAreMissing(t *testing.T) {
	t.Parallel()
	other, _ := server(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	first, _ := server(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other, http.StatusFound) })
	err := connect(t, first)
	require.ErrorContains(t, err, "HTTP 401")
	assert.ErrorContains(t, err, "redirected to "+other)
	assert.ErrorContains(t, err, "sse.headers")
	err = connect(t, other)
	require.ErrorContains(t, err, "HTTP 401")
	assert.NotContains(t, err.Error(), "redirected")
}

func TestRedirectsInACircleEnd(t *testing.T) {
	t.Parallel()
	circle, _ := server(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusFound) })
	assert.ErrorContains(t, connect(t, circle), "more than 10 redirects")
}

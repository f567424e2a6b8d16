package truth

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serving runs a server, whose record ended returns once all its connections are closed.
func serving(t *testing.T, s script) (server *Server, ended func() Record) {
	t.Helper()
	return servingAs(t, Truth{Name: "scripted", script: func(Load) script { return s }})
}

func servingAs(t *testing.T, truth Truth) (server *Server, ended func() Record) {
	t.Helper()
	server, err := Listen(truth, Load{Rate: 100, Connections: 4})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx) }()
	return server, func() Record {
		stop()
		require.NoError(t, <-done)
		return server.Record()
	}
}

// asked is what a script was asked, and answers at once.
func asked(times *[]time.Duration) script {
	return func(_ int, at time.Duration) outcome {
		*times = append(*times, at)
		return outcome{at: at}
	}
}

func delayed(by time.Duration) script {
	return func(_ int, at time.Duration) outcome { return outcome{at: at + by} }
}

// dial opens a connection, on which ask sends a request and reads the answer.
func dial(t *testing.T, server *Server) (conn net.Conn, ask func(request string) (*http.Response, error)) {
	t.Helper()
	conn, err := net.Dial("tcp", server.Address())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn, asking(conn)
}

func asking(conn net.Conn) (ask func(request string) (*http.Response, error)) {
	from := bufio.NewReader(conn)
	return func(request string) (*http.Response, error) {
		if _, err := io.WriteString(conn, request); err != nil {
			return nil, err
		}
		method, _, _ := strings.Cut(request, " ")
		response, err := http.ReadResponse(from, &http.Request{Method: method})
		if err == nil {
			_, err = io.Copy(io.Discard, response.Body)
		}
		return response, err
	}
}

const get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

func TestEachKindOfRequestIsAnsweredAndKeepsItsConnectionAsItAsks(t *testing.T) {
	t.Parallel()
	times := []time.Duration{}
	server, ended := serving(t, asked(&times))
	for request, kept := range map[string]bool{
		get:                                     true,
		"HEAD /a?b HTTP/1.1\r\nHost: h\r\n\r\n": true,
		"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody":                         true,
		"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n": true,
		"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n":                                    true,
		"GET / HTTP/1.0\r\n\r\n":                                                                    false,
		"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n":                                    false,
		"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 70000\r\n\r\n" + string(make([]byte, 70000)): true,
	} {
		conn, ask := dial(t, server)
		response, err := ask(request)
		require.NoError(t, err, request)
		assert.Equal(t, 200, response.StatusCode, request)
		if kept {
			_, err = ask(get)
			require.NoError(t, err, request)
			continue
		}
		_, err = conn.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF, request)
	}
	got := ended()
	assert.Len(t, times, 14)
	assert.Equal(t, 14, got.Requests.Answered)
	assert.Equal(t, 8, got.Requests.Connections)
}

func TestNothingIsAnsweredBeforeItsTime(t *testing.T) {
	t.Parallel()
	const delay = 3 * ms
	server, ended := serving(t, delayed(delay))
	_, ask := dial(t, server)
	longest := time.Duration(0)
	for range 20 {
		began := time.Now()
		_, err := ask(get)
		require.NoError(t, err)
		took := time.Since(began)
		assert.Greater(t, took, delay)
		longest = max(longest, took)
	}
	got := ended()
	assert.Equal(t, 20, got.Served.Count)
	assert.GreaterOrEqual(t, got.Served.Curve[0][1], 3.0)
	assert.Less(t, got.Served.MaxMs, float64(longest)/float64(ms), "a client sees more than the server does")
}

func TestTheScriptsTimeBeginsWithTheFirstRequest(t *testing.T) {
	t.Parallel()
	times := []time.Duration{}
	server, ended := serving(t, asked(&times))
	_, ask := dial(t, server)
	for range 2 {
		_, err := ask(get)
		require.NoError(t, err)
	}
	ended()
	require.Len(t, times, 2)
	assert.Zero(t, times[0])
	assert.Positive(t, times[1])
}

func TestARequestThatWaitsAtTheEndIsNeitherAnsweredNorLost(t *testing.T) {
	t.Parallel()
	came := make(chan struct{})
	server, ended := serving(t, func(_ int, at time.Duration) outcome {
		close(came)
		return outcome{at: at + time.Hour}
	})
	conn, _ := dial(t, server)
	_, err := io.WriteString(conn, get)
	require.NoError(t, err)
	<-came
	assert.Equal(t, Requests{Begun: 1, Connections: 1}, ended().Requests)
}

func TestARequestIsResetOrLostAsTheScriptSays(t *testing.T) {
	t.Parallel()
	fates := []fate{answered, reset, lost, answered}
	server, ended := serving(t, func(nth int, at time.Duration) outcome { return outcome{at, fates[nth]} })
	_, ask := dial(t, server)
	_, err := ask(get)
	require.NoError(t, err)
	_, err = ask(get)
	require.ErrorIs(t, err, syscall.ECONNRESET)

	silent, _ := dial(t, server)
	_, err = io.WriteString(silent, get)
	require.NoError(t, err)
	require.NoError(t, silent.(*net.TCPConn).CloseWrite()) // gives up
	rest, err := io.ReadAll(silent)
	require.NoError(t, err)
	assert.Empty(t, rest)

	_, ask = dial(t, server)
	_, err = ask(get)
	require.NoError(t, err)
	got := ended().Requests
	got.Unstamped = 0
	assert.Equal(t, Requests{Begun: 4, Answered: 2, Reset: 1, Lost: 1, Connections: 3}, got)
}

func TestAConnectionBeyondTheLimitIsResetUntilAnotherEnds(t *testing.T) {
	t.Parallel()
	limit, err := Find("limit")
	require.NoError(t, err)
	server, ended := servingAs(t, limit) // half of 4 connections
	works := func() (net.Conn, error) {
		conn, err := net.Dial("tcp", server.Address()) // may fail as well when it is reset
		if err == nil {
			t.Cleanup(func() { _ = conn.Close() })
			_, err = asking(conn)(get)
		}
		return conn, err
	}
	first, err := works()
	require.NoError(t, err)
	_, err = works()
	require.NoError(t, err)
	_, err = works()
	require.Error(t, err)
	require.NoError(t, first.Close())
	require.Eventually(t, func() bool { _, err := works(); return err == nil }, time.Minute, ms)
	got := ended().Requests
	assert.Equal(t, 3, got.Connections)
	assert.Positive(t, got.RefusedConnections)
}

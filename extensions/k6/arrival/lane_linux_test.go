package arrival

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
)

// A request that is written into a closed connection is lost, and nobody can tell whether it was taken. The test plays the loop's part,
// as it knows when the server has closed.
func TestThePumpDoesNotUseAConnectionThatTheServerHasClosed(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }))
	server.Config.IdleTimeout = 20 * time.Millisecond
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed <- struct{}{}
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	s := newScript(t, &fake.Pipeline{}, twenty, over(server.URL, ""))
	e := s.module.root.engine
	e.epoch = time.Now()
	e.start()
	l := newLoop(e)
	require.NotNil(t, l)
	t.Cleanup(l.close)
	l.begun = true // by the test
	n := &lane{sender: newSender(e, s.state), loop: l, ctx: t.Context(), fd: -1, number: -1, buffer: make([]byte, headerMost)}
	t.Cleanup(n.drop)
	require.True(t, l.welcome(n))
	for request := range 3 {
		require.Eventually(t, func() bool { l.takeIn(); return len(l.idle) == 1 }, time.Minute, time.Millisecond)
		l.idle = nil
		if request > 0 {
			assert.Positive(t, n.fd, "the loop has the connection")
			<-closed
			time.Sleep(time.Until(n.used.Add(idleUnchecked + time.Millisecond))) // before that it is not looked at
		}
		n.send(e.pacer.Slot(request))
		assert.Negative(t, n.fd, "a new connection is made by a goroutine")
	}
	require.Eventually(t, func() bool { l.takeIn(); return len(l.idle) == 1 }, time.Minute, time.Millisecond)
	assert.Empty(t, e.errorClasses())
	a := e.ledger.Final()
	assert.Equal(t, []int{3, 3, 0}, []int{a.RequestsSent, a.Lost, a.Unknown}, "accepted")
	<-closed
}

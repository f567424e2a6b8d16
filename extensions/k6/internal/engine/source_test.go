package engine

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/segment"
	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
)

// datagrams is a source of its own: messages arrive as UDP datagrams. It is all that a new kind of receiver needs.
type datagrams struct{ load, canary *net.UDPConn }

func (datagrams) Check(*profile.Profile) error { return nil }

func (datagrams) Describe() receive.Description {
	return receive.Description{Words: "datagrams", Connections: 1}
}

func (d datagrams) Open(_ context.Context, _ *run.Parts, sink *receive.Sink,
	_ receive.Means) (receive.Receiver, error) {
	r := &reading{datagramLine: datagramLine{d.load}}
	taker := sink.Subscriber(0)
	r.work.Go(func() {
		_ = r.Read(func(payload []byte, at socket.Arrival) {
			taker.Take(payload, nil, at)
			taker.Flush()
		})
	})
	return r, nil
}

func (d datagrams) Canary(context.Context, *run.Parts, receive.Means) (*receive.Path, error) {
	return &receive.Path{Target: "canary", At: "canary", Line: datagramLine{d.canary}}, nil
}

type reading struct {
	receive.None
	datagramLine
	work sync.WaitGroup
}

func (r *reading) Close() {
	r.datagramLine.Close()
	r.work.Wait()
}

type datagramLine struct{ conn *net.UDPConn }

func (l datagramLine) Read(take func([]byte, socket.Arrival)) error {
	for b := make([]byte, 64<<10); ; {
		n, err := l.conn.Read(b)
		if err != nil {
			return err
		}
		take(b[:n], socket.Arrival{At: time.Now(), Waited: -1})
	}
}

func (datagramLine) Retry(context.Context, time.Duration) error { return errors.ErrUnsupported }
func (l datagramLine) Close()                                   { _ = l.conn.Close() }

// A kind of receiver that nothing here knows has an account, a canary and a greeting. Every tenth message is lost.
func TestASourceOfItsOwn(t *testing.T) {
	t.Parallel()
	listen := func() (*net.UDPConn, net.Conn) {
		conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		require.NoError(t, err)
		to, err := net.Dial("udp", conn.LocalAddr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = to.Close() })
		return conn, to
	}
	load, toLoad := listen()
	canary, toCanary := listen()
	var mu sync.Mutex
	passed := 0
	url, _ := ingest(t, false, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		to := toLoad
		if bytes.Contains(body, []byte(".canary.")) {
			to = toCanary
		} else {
			mu.Lock()
			defer mu.Unlock()
			if passed++; passed%10 == 0 {
				w.WriteHeader(http.StatusAccepted)
				return
			}
		}
		_, err = to.Write(body)
		assert.NoError(t, err)
		w.WriteHeader(http.StatusAccepted)
	})
	s := newScript(t, &fake.Pipeline{}, "phases: [{duration: 2, arrivalRate: 20}]\nflows: [{name: direct}]",
		"ingest: { url: '"+url+"' }, idle: '2s'")
	o := *s.engine.options
	o.Canary, o.source = true, datagrams{load, canary}
	require.NoError(t, o.checkSource())
	e := New(&o, segment.Whole())
	var sending sync.WaitGroup
	sending.Go(func() {
		for vu := NewSender(e, s.state); vu.Send(t.Context()); {
		}
	})
	require.NoError(t, e.collect(t.Context(), s.state, s.metrics))
	sending.Wait()
	r := e.report(false)
	assert.Equal(t, []int{40, 36, 4}, []int{r.Account.Scheduled, r.Account.Arrived, r.Account.Lost})
	assert.Contains(t, r.Verdict.Reasons, "lost: 4 of 40 messages were accepted and never arrived")
	assert.Equal(t, 2, r.Canary.Arrived)
}

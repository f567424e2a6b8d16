package engine

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// mosquitto is a real broker for one test, behind an ingest that publishes at QoS 2. Subscribers
// may connect through a cutter.
type mosquitto struct {
	ingest  string // URL
	address string // host:port of the broker
	proxy   string // host:port of the cutter
	cutter  *cutter

	mu        sync.Mutex
	published int
	each      func(nth int) // called before each publish, one at a time; may be nil
}

func startMosquitto(t *testing.T) *mosquitto {
	t.Helper()
	m := &mosquitto{address: test.StartMosquitto(t, nil, test.Anyone).Address()}

	publisher := paho.NewClient(paho.NewClientOptions().AddBroker("mqtt://" + m.address).SetClientID("relay").
		SetConnectRetry(true).SetConnectRetryInterval(20 * time.Millisecond))
	token := publisher.Connect()
	require.True(t, token.WaitTimeout(10*time.Second) && token.Error() == nil, "mosquitto did not start: %v",
		token.Error())
	t.Cleanup(func() { publisher.Disconnect(100) })
	ingest := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var message struct{ Target string }
		if json.Unmarshal(body, &message) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		m.next()
		token := publisher.Publish("messages/"+message.Target, 2, false, body)
		if token.Wait(); token.Error() != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(ingest.Close)
	m.ingest = ingest.URL
	m.cutter = startCutter(t, m.address)
	m.proxy = m.cutter.listener.Addr().String()
	return m
}

// next counts a message and calls each.
func (m *mosquitto) next() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.published++; m.each != nil {
		m.each(m.published)
	}
}

// cutter is a TCP proxy whose connections can be cut.
type cutter struct {
	to       string
	listener net.Listener
	mu       sync.Mutex
	away     bool
	conns    []net.Conn
	work     sync.WaitGroup
}

func startCutter(t *testing.T, to string) *cutter {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &cutter{to: to, listener: listener}
	c.work.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			c.pass(near)
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		c.cut()
		c.work.Wait()
	})
	return c
}

func (c *cutter) pass(near net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	far, err := net.Dial("tcp", c.to)
	if c.away || err != nil {
		_ = near.Close()
		return
	}
	c.conns = append(c.conns, near, far)
	for from, to := range map[net.Conn]net.Conn{near: far, far: near} {
		c.work.Go(func() {
			_, _ = io.Copy(to, from)
			_ = to.Close()
		})
	}
}

// cut closes all connections and refuses new ones until mend.
func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = true
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.conns = nil
}

func (c *cutter) mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = false
}

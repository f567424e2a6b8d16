package arrival

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fakePipeline is an ingest and a broker in one, over real HTTP and real MQTT 5 on 127.0.0.1, that does to each message
// what it is told: the known truth that the instrument is measured against.
type fakePipeline struct {
	delay  time.Duration             // from the answer to the delivery
	status func(nth int) int         // of the nth request, from 1; nil: always 202. 0: no answer at all
	copies func(nth int) int         // deliveries of the nth message, from 1, to each subscriber; nil: always 1
	hops   func(at time.Time) string // nil: no stamps
	ingest *httptest.Server
	broker net.Listener

	mu          sync.Mutex
	requests    int
	messages    int
	subscribers map[string][]net.Conn // by topic
	work        sync.WaitGroup
}

func (f *fakePipeline) start(t *testing.T) {
	t.Helper()
	var err error
	f.broker, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f.subscribers = map[string][]net.Conn{}
	f.ingest = httptest.NewServer(f)
	go func() {
		for {
			conn, err := f.broker.Accept()
			if err != nil {
				return
			}
			f.work.Go(func() { f.serve(t, conn) })
		}
	}()
	t.Cleanup(func() {
		f.ingest.CloseClientConnections()
		f.ingest.Close()
		_ = f.broker.Close()
		f.work.Wait()
	})
}

// serve is the broker's side of one connection.
func (f *fakePipeline) serve(t *testing.T, conn net.Conn) {
	defer func() { _ = conn.Close() }()
	for {
		packet, err := packets.ReadPacket(conn)
		if err != nil {
			return
		}
		var answer *packets.ControlPacket
		switch p := packet.Content.(type) {
		case *packets.Connect:
			answer = packets.NewControlPacket(packets.CONNACK)
		case *packets.Subscribe:
			answer = packets.NewControlPacket(packets.SUBACK)
			ack := answer.Content.(*packets.Suback)
			ack.PacketID = p.PacketID
			f.mu.Lock()
			for _, s := range p.Subscriptions {
				f.subscribers[s.Topic] = append(f.subscribers[s.Topic], conn)
				ack.Reasons = append(ack.Reasons, s.QoS)
			}
			f.mu.Unlock()
		case *packets.Puback, *packets.Pingreq:
			continue
		case *packets.Disconnect:
			return
		default:
			assert.Fail(t, "unexpected packet", packet.PacketType())
			return
		}
		if _, err := answer.WriteTo(conn); err != nil {
			return
		}
	}
}

// ServeHTTP is the ingest.
func (f *fakePipeline) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.requests++
	status := http.StatusAccepted
	if f.status != nil {
		status = f.status(f.requests)
	}
	f.mu.Unlock()
	if status == 0 {
		<-r.Context().Done()
		return
	}
	if status == http.StatusAccepted {
		at := time.Now()
		f.work.Go(func() {
			time.Sleep(time.Until(at.Add(f.delay)))
			f.deliver(body, at)
		})
	}
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "status %d", status)
}

func (f *fakePipeline) deliver(body []byte, at time.Time) {
	var batch []json.RawMessage
	if json.Unmarshal(body, &batch) != nil {
		batch = []json.RawMessage{body}
	}
	for _, message := range batch {
		var m struct{ Target string }
		_ = json.Unmarshal(message, &m)
		packet := packets.NewControlPacket(packets.PUBLISH)
		p := packet.Content.(*packets.Publish)
		p.Topic, p.Payload, p.QoS, p.PacketID = "messages/"+m.Target, message, 1, 1
		if f.hops != nil {
			p.Properties = &packets.Properties{User: []packets.User{{Key: "hops", Value: f.hops(at)}}}
		}
		f.mu.Lock()
		f.messages++
		copies := 1
		if f.copies != nil {
			copies = f.copies(f.messages)
		}
		for range copies {
			for _, conn := range f.subscribers[p.Topic] {
				_, _ = packet.WriteTo(conn)
			}
		}
		f.mu.Unlock()
	}
}

// startRedis starts a real Redis of the test's own and returns its address.
func startRedis(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	server := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--dir", t.TempDir())
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, 10*time.Second, 10*time.Millisecond)
	return "redis://" + address
}

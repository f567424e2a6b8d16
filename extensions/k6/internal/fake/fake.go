// Package fake is a controllable pipeline: an ingest and a broker in one, over real HTTP and real MQTT 5 on 127.0.0.1, that
// does to each message what it is told. It is the known truth that the instrument is measured against.
package fake

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/eclipse/paho.golang/packets"
)

// Pipeline is told what to do before Start, and does it until Close.
type Pipeline struct {
	Delay  time.Duration             // from the answer to the delivery
	Status func(nth int) int         // of the nth request, from 1; nil: always 202. 0: no answer at all
	Copies func(nth int) int         // deliveries of the nth message, from 1, to each subscriber; nil: always 1
	Hops   func(at time.Time) string // nil: no stamps
	ingest *httptest.Server
	broker net.Listener

	mu          sync.Mutex
	requests    int
	messages    int
	subscribers map[string][]net.Conn // by topic
	failed      error
	work        sync.WaitGroup

	closing sync.Mutex
	conns   []net.Conn
}

// Start listens on free ports.
func (f *Pipeline) Start() error {
	var err error
	if f.broker, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return err
	}
	f.subscribers = map[string][]net.Conn{}
	f.ingest = httptest.NewServer(f)
	f.work.Go(func() {
		for {
			conn, err := f.broker.Accept()
			if err != nil {
				return
			}
			f.work.Go(func() { f.serve(conn) })
		}
	})
	return nil
}

// IngestURL is where messages are posted.
func (f *Pipeline) IngestURL() string { return f.ingest.URL }

// MQTTURL is where they arrive.
func (f *Pipeline) MQTTURL() string { return "mqtt://" + f.broker.Addr().String() }

// CloseIngest leaves nobody at the ingest's address.
func (f *Pipeline) CloseIngest() { f.ingest.Close() }

// Close ends both and waits until nothing of them runs any more. The error is the first packet that was not understood.
func (f *Pipeline) Close() error {
	f.ingest.CloseClientConnections()
	f.ingest.Close()
	_ = f.broker.Close()
	f.work.Wait()
	return f.failed
}

// Cut closes the connections of all subscribers. Copies may call it.
func (f *Pipeline) Cut() {
	f.closing.Lock()
	defer f.closing.Unlock()
	for _, conn := range f.conns {
		_ = conn.Close()
	}
	f.conns = nil
}

// serve is the broker's side of one connection.
func (f *Pipeline) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	f.closing.Lock()
	f.conns = append(f.conns, conn)
	f.closing.Unlock()
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
			f.mu.Lock()
			f.failed = fmt.Errorf("unexpected packet: %s", packet.PacketType())
			f.mu.Unlock()
			return
		}
		if _, err := answer.WriteTo(conn); err != nil {
			return
		}
	}
}

// ServeHTTP is the ingest.
func (f *Pipeline) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.requests++
	status := http.StatusAccepted
	if f.Status != nil {
		status = f.Status(f.requests)
	}
	f.mu.Unlock()
	if status == 0 {
		<-r.Context().Done()
		return
	}
	if status == http.StatusAccepted {
		at := time.Now()
		f.work.Go(func() {
			time.Sleep(time.Until(at.Add(f.Delay)))
			f.deliver(body, at)
		})
	}
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "status %d", status)
}

func (f *Pipeline) deliver(body []byte, at time.Time) {
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
		if f.Hops != nil {
			p.Properties = &packets.Properties{User: []packets.User{{Key: "hops", Value: f.Hops(at)}}}
		}
		f.mu.Lock()
		f.messages++
		copies := 1
		if f.Copies != nil {
			copies = f.Copies(f.messages)
		}
		for range copies {
			for _, conn := range f.subscribers[p.Topic] {
				_, _ = packet.WriteTo(conn)
			}
		}
		f.mu.Unlock()
	}
}

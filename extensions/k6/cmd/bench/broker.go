package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/eclipse/paho.golang/packets"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receiver"
)

// server is a process that listens.
type server struct {
	*process
	address string
}

// serve starts a server on a free port and waits until it listens.
func (b *bench) serve(what string, start func(port string) *process) *server {
	address := freeAddress()
	_, port, _ := net.SplitHostPort(address)
	s := &server{start(port), address}
	b.waitUntil(what+" that answers", readyWithin, func() bool {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, s.process)
	return s
}

func (s *server) http() string  { return "http://" + s.address }
func (s *server) redis() string { return "redis://" + s.address }
func (s *server) mqtt() string  { return "mqtt://" + s.address }

// startMosquitto starts a broker for the row. Its queues have no limit: a broker that drops messages of a slow
// subscriber would look cheap.
func (b *bench) startMosquitto() *server {
	me := must.Get(user.Current())
	conf := filepath.Join(b.dir, "mosquitto.conf")
	return b.serve("a broker", func(port string) *process {
		must.Do(os.WriteFile(conf, fmt.Appendf(nil, "listener %s 127.0.0.1\nuser %s\nallow_anonymous true\n"+
			"set_tcp_nodelay true\nmax_inflight_messages 0\nmax_queued_messages 0\nmax_queued_bytes 0\n"+
			"persistence false\nlog_dest stderr\n", port, me.Username), 0o600))
		return b.start("mosquitto", daemons(), "mosquitto", "-c", conf)
	})
}

// startRedis starts a Redis for the row, which writes nothing to disk.
func (b *bench) startRedis() *server {
	return b.serve("a Redis", func(port string) *process {
		return b.start("redis-server", daemons(), "redis-server", "--bind", "127.0.0.1", "--port", port,
			"--save", "", "--appendonly", "no", "--dir", b.dir)
	})
}

// daemons is a PATH that includes the directories of Debian's servers.
func daemons() []string { return []string{"PATH=" + os.Getenv("PATH") + ":/usr/sbin:/usr/local/sbin"} }

// connect opens an MQTT connection until the end of the row. stream is its TCP connection.
func (b *bench) connect(url, id string) (conn *receiver.Conn, stream net.Conn) {
	dial := func(ctx context.Context, network, address string) (_ net.Conn, err error) {
		stream, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return stream, err
	}
	conn = must.Get(receiver.Connect(b.ctx, receiver.Options{URL: url, ClientID: id, Dial: dial}))
	b.closers = append(b.closers, conn.Close)
	return conn, stream
}

// directBroker starts a broker without topics: it calls subscribed with the connection of its one subscriber, and
// the caller writes packets there. It takes less CPU than a real broker.
func (b *bench) directBroker(subscribed func(net.Conn)) (url string) {
	l := b.listen()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serveSubscriber(conn, subscribed)
		}
	}()
	return "mqtt://" + l.Addr().String()
}

// silentBroker starts a broker that sends no messages.
func (b *bench) silentBroker() (url string) { return b.directBroker(func(net.Conn) {}) }

func serveSubscriber(conn net.Conn, subscribed func(net.Conn)) {
	defer func() { _ = conn.Close() }()
	for {
		packet, err := packets.ReadPacket(conn)
		if err != nil {
			return
		}
		_, err = conn.Write(fake.Reply(packet)) // one write can't split a packet of the other writer
		if err != nil {
			return
		}
		if packet.Type == packets.SUBSCRIBE {
			subscribed(conn)
		}
	}
}

// sink is a subscriber that acknowledges and counts messages, and ignores their content.
type sink struct{ taken atomic.Int64 }

// startSink subscribes to the topics of the default flow until the end of the row.
func (b *bench) startSink(url string) *sink {
	conn, _ := b.connect(url, "sink")
	topics := make([]string, 100)
	for i := range topics {
		topics[i] = fmt.Sprint("messages/user/", i)
	}
	must.Do(conn.Subscribe(b.ctx, topics, 1))
	k := &sink{}
	go func() {
		err := conn.Read("", func(messages []receiver.Message) {
			k.taken.Add(int64(len(messages)))
		})
		if !errors.Is(err, net.ErrClosed) {
			b.say("the sink: %s", err)
		}
	}()
	return k
}

// stack is a real pipeline, as npm run pipeline starts it.
type stack struct {
	Ingest    struct{ URL, Token string }
	Redis     struct{ URL string }
	MQTT      struct{ URL, Username, Password string }
	Processes map[string]int // pids of the processes that messages pass

	bench *bench
}

func (b *bench) startStack(env ...string) *stack {
	dir := must.Get(os.MkdirTemp(b.dir, "stack-"))
	p := b.node("the pipeline", "pipeline/stack/main.ts", append([]string{
		"STACK_DIR=" + dir, "INGEST_PORT=0", "REDIS_PORT=0", "MQTT_PORT=0", "REDIS_URL=", "MQTT_URL=",
		"DRAIN_LIMIT_MS=0",
	}, env...)...)
	s := &stack{bench: b}
	b.waitUntil("a pipeline", 3*readyWithin, func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "stack.json"))
		return err == nil && json.Unmarshal(text, s) == nil
	}, p)
	return s
}

// count reads from the ingest how many messages have entered the queue.
func (s *stack) count() (int64, error) {
	const name = "arrival_ingest_messages_accepted_total"
	_, text, err := s.bench.get(s.Ingest.URL + "/metrics")
	if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return strconv.ParseInt(value, 10, 64)
		}
	}
	return 0, fmt.Errorf("%s/metrics has no %s", s.Ingest.URL, name)
}

// mqttURL holds the credentials of the subscriber.
func (s *stack) mqttURL() string {
	u := must.Get(url.Parse(s.MQTT.URL))
	u.User = url.UserPassword(s.MQTT.Username, s.MQTT.Password)
	return u.String()
}

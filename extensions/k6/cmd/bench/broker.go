package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/redis/go-redis/v9"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqttwire"
	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receiver"
)

// server is a process that listens.
type server struct {
	*process
	address string
}

// serve starts a server on a free port, and waits until it listens there.
func (b *bench) serve(what string, start func(port string) *process) *server {
	address := freeAddress()
	_, port, _ := net.SplitHostPort(address)
	s := &server{start(port), address}
	b.eventually(what+" that answers", readyWithin, func() bool {
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

// startMosquitto starts a real broker of the row's own. It queues without a limit: one that drops what a slow subscriber
// does not take would make it look cheap.
func (b *bench) startMosquitto() *server {
	me := must.Get(user.Current())
	conf := filepath.Join(b.dir, "mosquitto.conf")
	return b.serve("a broker", func(port string) *process {
		must.Do(os.WriteFile(conf, fmt.Appendf(nil, "listener %s 127.0.0.1\nuser %s\nallow_anonymous true\nset_tcp_nodelay true\n"+
			"max_inflight_messages 0\nmax_queued_messages 0\nmax_queued_bytes 0\npersistence false\nlog_dest stderr\n", port, me.Username), 0o600))
		return b.start("mosquitto", daemons(), "mosquitto", "-c", conf)
	})
}

// startRedis starts a Redis of the row's own, with the append-only file of the pipeline's ("yes") or without ("no").
func (b *bench) startRedis(appendonly string) *server {
	return b.serve("a Redis", func(port string) *process {
		return b.start("redis-server", daemons(), "redis-server", "--bind", "127.0.0.1", "--port", port,
			"--save", "", "--appendonly", appendonly, "--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0", "--dir", b.dir)
	})
}

// daemons is the PATH that Debian's servers are in.
func daemons() []string { return []string{"PATH=" + os.Getenv("PATH") + ":/usr/sbin:/usr/local/sbin"} }

func (b *bench) openRedis(url string) *redis.Client {
	client := redis.NewClient(must.Get(redis.ParseURL(url)))
	b.closing(client)
	return client
}

// connect opens an MQTT connection until the row is over. stream is what is below it.
func (b *bench) connect(url, id string) (conn *receiver.Conn, stream net.Conn) {
	dial := func(ctx context.Context, network, address string) (_ net.Conn, err error) {
		stream, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return stream, err
	}
	conn = must.Get(receiver.Connect(b.ctx, receiver.Options{URL: url, ClientID: id, Dial: dial}))
	b.closers = append(b.closers, conn.Close)
	return conn, stream
}

// straight is a broker that has no topics: it hands the connection of its one subscriber to subscribed, for the packets that
// somebody writes there. It costs less CPU than a real one where the broker is not what is measured.
func (b *bench) straight(subscribed func(net.Conn)) (url string) {
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

// nowhere is a broker whose subscriber nobody sends to.
func (b *bench) nowhere() (url string) { return b.straight(func(net.Conn) {}) }

func serveSubscriber(conn net.Conn, subscribed func(net.Conn)) {
	defer func() { _ = conn.Close() }()
	for {
		packet, err := packets.ReadPacket(conn)
		if err != nil {
			return
		}
		if _, err := conn.Write(mqttwire.Reply(packet)); err != nil { // one write, so it cuts into no packet of the other writer
			return
		}
		if packet.Type == packets.SUBSCRIBE {
			subscribed(conn)
		}
	}
}

// sink takes what arrives, acknowledges it as the native subscriber would, and looks at nothing.
type sink struct{ taken atomic.Int64 }

// startSink holds the topics of the default flow until the row is over. Once so many bytes lie in its socket it is woken: 1 is a
// subscriber as others are, which is woken for each message while the broker keeps up.
func (b *bench) startSink(url string, wakes int) *sink {
	conn, stream := b.connect(url, "sink")
	topics := make([]string, 100)
	for i := range topics {
		topics[i] = fmt.Sprint("messages/user/", i)
	}
	must.Do(conn.Subscribe(b.ctx, topics, 1))
	if wakes > 1 { // from here on: answers of the broker are shorter
		must.Do(wakeAt(stream, wakes))
	}
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

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/redis/go-redis/v9"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqttwire"
)

const readyWithin = 10 * time.Second

// startMosquitto starts a real broker of the row's own. It queues without a limit: one that drops what a slow subscriber
// does not take would make it look cheap.
func (b *bench) startMosquitto(ctx context.Context) (address string, err error) {
	if address, err = freeAddress(); err != nil {
		return "", err
	}
	me, err := user.Current()
	if err != nil {
		return "", err
	}
	_, port, _ := net.SplitHostPort(address)
	conf := filepath.Join(b.dir, "mosquitto.conf")
	text := fmt.Sprintf("listener %s 127.0.0.1\nuser %s\nallow_anonymous true\nset_tcp_nodelay true\n"+
		"max_inflight_messages 0\nmax_queued_messages 0\nmax_queued_bytes 0\npersistence false\nlog_dest stderr\n", port, me.Username)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		return "", err
	}
	p, err := b.start("mosquitto", daemons(), "mosquitto", "-c", conf)
	if err != nil {
		return "", err
	}
	return address, eventually(ctx, "a broker that answers", readyWithin, func() bool { return answers(address) }, p)
}

// startRedis starts the clock of a row whose pipeline has none.
func (b *bench) startRedis(ctx context.Context) (url string, err error) {
	url, _, err = b.startRedisWith(ctx, "no")
	return url, err
}

// startRedisWith starts a Redis of the row's own, with the append-only file of the pipeline's or without.
func (b *bench) startRedisWith(ctx context.Context, appendonly string) (url string, pid int, err error) {
	address, err := freeAddress()
	if err != nil {
		return "", 0, err
	}
	_, port, _ := net.SplitHostPort(address)
	p, err := b.start("redis-server", daemons(), "redis-server", "--bind", "127.0.0.1", "--port", port,
		"--save", "", "--appendonly", appendonly, "--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0", "--dir", b.dir)
	if err != nil {
		return "", 0, err
	}
	return "redis://" + address, p.pid, eventually(ctx, "a Redis that answers", readyWithin, func() bool { return answers(address) }, p)
}

func answers(address string) bool {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

// connectPublisher opens an MQTT connection for packets that are written to it as they are.
func (b *bench) connectPublisher(address string) (net.Conn, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	b.closers = append(b.closers, func() { _ = conn.Close() })
	hello := mqttwire.Connect{Version: mqttwire.Version5, ClientID: "bench", Clean: true} // a keep-alive of 0: none
	if _, err := conn.Write(hello.Append(nil)); err != nil {
		return nil, err
	}
	answer, err := packets.ReadPacket(conn)
	if err != nil {
		return nil, err
	}
	if ack, ok := answer.Content.(*packets.Connack); !ok || ack.ReasonCode != 0 {
		return nil, fmt.Errorf("mosquitto answered CONNECT with %s", answer)
	}
	return conn, nil
}

// straight is a broker that has no topics: it hands the connection of its one subscriber to subscribed, for the packets that
// somebody writes there. It costs less CPU than a real one where the broker is not what is measured.
func (b *bench) straight(subscribed func(net.Conn)) (url string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	b.closers = append(b.closers, func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serveSubscriber(conn, subscribed)
		}
	}()
	return "mqtt://" + l.Addr().String(), nil
}

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

// daemons is the PATH that Debian's servers are in.
func daemons() []string { return []string{"PATH=" + os.Getenv("PATH") + ":/usr/sbin:/usr/local/sbin"} }

// openRedis connects to a Redis until the row is over.
func (b *bench) openRedis(url string) (*redis.Client, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	client := redis.NewClient(o)
	b.closers = append(b.closers, func() { _ = client.Close() })
	return client, nil
}

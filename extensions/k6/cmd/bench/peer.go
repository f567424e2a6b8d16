package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	paho "github.com/eclipse/paho.mqtt.golang"
	"github.com/redis/go-redis/v9"

	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
)

// The peer is the Go pipeline of the write-up that this project began with, rebuilt from its description. An API
// pushes each message onto a Redis list. Push servers pop one, publish it at QoS 0 and wait. A client receives it.
// One message in a hundred is traced: at both ends its id goes into a list with the time of Redis. The code is what
// most people would write. The bench starts itself as the peer's processes.
const (
	peerRole    = "peer" // the first argument of a peer's process; its name and three addresses follow
	peerList    = "myapp"
	peerTopic   = "/channel"
	peerThreads = 4
	peerSample  = 100
)

type peer struct {
	redis *redis.Client
	mqtt  paho.Client
	count atomic.Int64
}

// peerProcess runs "api", "push" or "client". It returns the error that ended it.
func peerProcess(name, redisAddress, mqttURL, listen string) error {
	p := &peer{redis: redis.NewClient(&redis.Options{Addr: redisAddress})}
	if name != "api" {
		p.mqtt = paho.NewClient(paho.NewClientOptions().AddBroker(mqttURL).SetClientID("peer-" + name))
		if t := p.mqtt.Connect(); t.Wait() && t.Error() != nil {
			return t.Error()
		}
	}
	mux := http.NewServeMux()
	switch name {
	case "api":
		mux.HandleFunc("POST /", p.post)
	case "push":
		for range peerThreads {
			go p.push()
		}
	case "client":
		if t := p.mqtt.Subscribe(peerTopic, 0, p.arrived); t.Wait() && t.Error() != nil {
			return t.Error()
		}
	}
	mux.HandleFunc("GET /count", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"count":%d}`, p.count.Load())
	})
	return http.ListenAndServe(listen, mux)
}

func (p *peer) post(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = p.trace("apiserver", body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := p.redis.LPush(r.Context(), peerList, body).Err(); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

func (p *peer) push() {
	for {
		popped, err := p.redis.BRPop(context.Background(), 0, peerList).Result()
		if err != nil {
			return
		}
		p.mqtt.Publish(peerTopic, 0, false, popped[1]).Wait()
	}
}

func (p *peer) arrived(_ paho.Client, m paho.Message) {
	if p.trace("mqttclient", m.Payload()) == nil {
		p.count.Add(1)
	}
}

// trace parses a message and records it if its number is a multiple of peerSample.
func (p *peer) trace(component string, message []byte) error {
	var m struct{ ID, Source, Target, Payload string }
	if err := json.Unmarshal(message, &m); err != nil {
		return err
	}
	if n, err := strconv.Atoi(m.ID[strings.LastIndexByte(m.ID, '.')+1:]); err != nil || n%peerSample != 0 {
		return err
	}
	ctx := context.Background()
	at, err := p.redis.Time(ctx).Result()
	if err == nil {
		record := fmt.Sprintf(`{"id":%q,"time":"%d.%06d"}`, m.ID, at.Unix(), at.Nanosecond()/1000)
		err = p.redis.LPush(ctx, component, record).Err()
	}
	return err
}

const peerRounds = 5

// compared measures our whole pipeline against the peer, with the same requests at the same times, and again with an
// ingest that lingers. Ours includes k6's subscriber: the CPU of k6 that sends and receives, minus that of k6 that
// only sends.
func compared(b *bench) []figure {
	redis, broker := b.startRedis(), b.startMosquitto()
	self := must.Get(os.Executable())
	pids := map[string]int{"redis": redis.pid, "broker": broker.pid}
	start := func(name string) *server {
		s := b.serve("the peer's "+name, func(port string) *process {
			return b.start(name, nil, self, peerRole, name, redis.address, broker.mqtt(), "127.0.0.1:"+port)
		})
		pids[name] = s.pid
		return s
	}
	client, api := start("client"), start("api")
	start("push")
	against := func(what string, ours *stack) figure {
		all := b.alternate(peerRounds, "message", func() use {
			u, _ := b.sendOnly(api.http(), token, pids, func() (int64, error) { return b.fetchCount(client.http()) })
			return u
		}, func() use {
			whole := b.measured(ours, nil)
			_, sends := b.sendOnly(ours.Ingest.URL, ours.Ingest.Token, nil, ours.count)
			return whole.without(sends)
		})
		f := all.costs(0.75, "a Go pipeline", "ours"+what)
		f.row = strings.TrimPrefix(what, ", ")
		f.note("CPU a message of all processes at %.0f and %.0f messages/s of %d B, "+
			"%d rounds with both sides in each; the Go pipeline is net/http, LPUSH, BRPOP and QoS 0 with %d threads, "+
			"ours has an append-only file, QoS 1 and credentials, and measures every message",
			all.median(0, use.rate), all.median(1, use.rate), len(body), peerRounds, peerThreads)
		each := func(side int, pids map[string]int) string {
			return parts(pids, func(name string) string { return fmt.Sprintf("%.1f", all.median(side, part(name))) })
		}
		f.note("µs of the Go pipeline: %s; ours: %s, k6's subscriber %.1f", each(0, pids), each(1, ours.Processes),
			all.median(1, part("k6")))
		return f
	}
	return []figure{against("", b.startStack()), against(", LINGER_MS=1", b.startStack("LINGER_MS=1"))}
}

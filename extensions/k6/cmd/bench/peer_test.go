package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	paho "github.com/eclipse/paho.mqtt.golang"
	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
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
		_, _ = fmt.Fprintf(w, "%d", p.count.Load())
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

// BenchmarkPeer measures our whole pipeline against the peer, with the same requests at the same times, and again with
// an ingest that lingers. Ours includes k6's subscriber: the CPU of k6 that sends and receives, minus that of k6 that
// only sends.
func BenchmarkPeer(b *testing.B) {
	store, broker := test.StartRedis(b), startMosquitto(b)
	self, err := os.Executable()
	require.NoError(b, err)
	pids := map[string]int{"redis": store.PID, "broker": broker.PID}
	process := func(name string) (url string) {
		s := test.Server(b, func(port string) *exec.Cmd {
			return command(nil, self, peerRole, name, store.Address(), "mqtt://"+broker.Address(), "127.0.0.1:"+port)
		})
		pids[name] = s.PID
		return "http://" + s.Address()
	}
	client, api := process("client"), process("api")
	process("push")
	arrived := func() (int64, error) {
		_, body, err := get(client + "/count")
		if err != nil {
			return 0, err
		}
		return strconv.ParseInt(string(body), 10, 64)
	}
	against := func(figure string, ours *stack) {
		rounds(b, func(t testing.TB) use {
			u, _ := sendOnly(t, api, token, pids, arrived)
			return u
		}, func(t testing.TB) use {
			whole := ours.measured(t, nil)
			_, sends := ours.sendOnly(t)
			return whole.without(sends)
		}, func(b *testing.B, baseline, ours use) { reportCost(b, figure, baseline, ours) })
	}
	against("", startStack(b))
	against("LINGER_MS=1", startStack(b, "LINGER_MS=1"))
}

func TestThePeerDeliversAllMessagesAndTracesOneIn100(t *testing.T) {
	t.Parallel()
	store := miniredis.RunT(t)
	broker := mochi.New(&mochi.Options{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, broker.AddHook(new(auth.AllowHook), nil))
	listener := listeners.NewTCP(listeners.Config{Address: "127.0.0.1:0"})
	require.NoError(t, broker.AddListener(listener))
	require.NoError(t, broker.Serve())
	t.Cleanup(func() { _ = broker.Close() })
	process := func(id string) *peer {
		p := &peer{
			redis: redis.NewClient(&redis.Options{Addr: store.Addr()}),
			mqtt:  paho.NewClient(paho.NewClientOptions().AddBroker("tcp://" + listener.Address()).SetClientID(id)),
		}
		t.Cleanup(func() { _ = p.redis.Close() })
		connected := p.mqtt.Connect()
		connected.Wait()
		require.NoError(t, connected.Error())
		t.Cleanup(func() { p.mqtt.Disconnect(0) })
		return p
	}
	client, pusher, api := process("client"), process("push"), process("api")
	client.mqtt.Subscribe(peerTopic, 0, client.arrived).Wait()
	go pusher.push()
	server := httptest.NewServer(http.HandlerFunc(api.post))
	t.Cleanup(server.Close)
	post := func(body string) int {
		answer, err := http.Post(server.URL+"/messages", "application/json", strings.NewReader(body))
		require.NoError(t, err)
		_ = answer.Body.Close()
		return answer.StatusCode
	}

	for i := range 150 {
		assert.Equal(t, http.StatusOK, post(strings.Replace(body, ".123456", fmt.Sprint(".", i), 1)))
	}
	require.Eventually(t, func() bool { return client.count.Load() == 150 }, 10*time.Second, time.Millisecond)
	for _, component := range []string{"apiserver", "mqttclient"} {
		traced, err := store.List(component)
		require.NoError(t, err)
		require.Len(t, traced, 2)
		assert.Regexp(t, `^{"id":"01234567\.1\.100","time":"\d+\.\d{6}"}$`, traced[0])
	}
	assert.Equal(t, http.StatusBadRequest, post("not JSON"))
	store.Close()
	assert.Equal(t, http.StatusServiceUnavailable, post(body))
}

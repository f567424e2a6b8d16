package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
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
)

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

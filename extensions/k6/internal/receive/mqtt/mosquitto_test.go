package mqtt

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqtt"
)

var versions = []int{mqtt.Version311, mqtt.Version5}

func TestEveryVersionTransportAndQoS(t *testing.T) {
	t.Parallel()
	m := startMosquitto(t)
	publish := publisher(t, m)
	const n = 50
	known := 0
	for _, version := range versions {
		for _, scheme := range schemes {
			for qos := range byte(3) {
				name := fmt.Sprintf("MQTT %d %s QoS %d", version, scheme, qos)
				t.Run(name, func(t *testing.T) {
					topic := strings.ReplaceAll(name, " ", "/")
					c := subscribed(t, SubscriberOptions{URL: m.url(scheme), TLS: m.tls, ClientID: "me", Version: version},
						qos, topic)
					result := reading(c, func(got []seen) {
						if len(got) == n {
							go c.Close()
						}
					})
					for _, payload := range numbered(n) {
						publish(topic, payload, qos)
					}
					got, err := result()
					require.ErrorIs(t, err, net.ErrClosed)
					assert.Equal(t, numbered(n), payloads(got))
					for _, s := range got {
						assert.Equal(t, topic, s.Topic)
						if version == mqtt.Version5 {
							assert.Equal(t, "hops of "+s.Payload, s.Hops)
						} else {
							assert.Empty(t, s.Hops)
						}
						if s.Kernel {
							known++
						}
					}
				})
			}
		}
	}
	assert.Equal(t, runtime.GOOS == "linux", known > 0, "only Linux stamps arrivals")
}

func TestAWildcardAndALargeMessage(t *testing.T) {
	t.Parallel()
	m := startMosquitto(t)
	publish := publisher(t, m)
	for _, scheme := range schemes {
		large := strings.Repeat("x", 5*readSize)
		if strings.HasPrefix(scheme, "ws") { // Mosquitto 2.0 sends large messages over WebSocket slowly
			large = large[:10<<10]
		}
		c := subscribed(t, SubscriberOptions{URL: m.url(scheme), TLS: m.tls}, 1, "messages/+/1", "more/#")
		result := reading(c, func(got []seen) {
			if len(got) == 3 {
				go c.Close()
			}
		})
		publish("messages/user/1", "a", 1)
		publish("messages/user/2", "not subscribed to", 1)
		publish("more/of/the/same", large, 1)
		publish("more", "c", 1)
		got, err := result()
		require.ErrorIs(t, err, net.ErrClosed)
		assert.Equal(t, []string{"a", large, "c"}, payloads(got), scheme)
	}
}

func TestASharedSubscriptionDividesMessages(t *testing.T) {
	t.Parallel()
	m := startMosquitto(t)
	publish := publisher(t, m)
	const n = 100
	for _, version := range versions {
		topic := fmt.Sprint("work/", version)
		var left sync.WaitGroup
		left.Add(n)
		var results []func() ([]seen, error)
		var conns []*Subscriber
		for range 2 {
			c := subscribed(t, SubscriberOptions{URL: m.url("mqtt"), Version: version}, 1, "$share/group/"+topic)
			handed := 0
			results = append(results, reading(c, func(got []seen) {
				left.Add(handed - len(got))
				handed = len(got)
			}))
			conns = append(conns, c)
		}
		for _, payload := range numbered(n) {
			publish(topic, payload, 1)
		}
		left.Wait()
		var all []string
		for i, c := range conns {
			c.Close()
			got, err := results[i]()
			require.ErrorIs(t, err, net.ErrClosed)
			assert.NotEmpty(t, got)
			all = append(all, payloads(got)...)
		}
		assert.ElementsMatch(t, numbered(n), all)
	}
}

func TestAForbiddenSubscriptionIsAnError(t *testing.T) {
	t.Parallel()
	// acl_file accepts every subscription and withholds the messages. This plugin refuses.
	var plugins []string
	for _, pattern := range []string{"/usr/lib/*/", "/usr/lib/", "/usr/local/lib/", "/opt/homebrew/lib/"} {
		found, _ := filepath.Glob(pattern + "mosquitto_dynamic_security.so")
		plugins = append(plugins, found...)
	}
	require.NotEmpty(t, plugins, "mosquitto_dynamic_security.so was not found: it comes with Mosquitto")
	config := filepath.Join(t.TempDir(), "security.json")
	require.NoError(t, os.WriteFile(config, []byte(`{
		"defaultACLAccess": {
			"publishClientSend": true, "publishClientReceive": true, "subscribe": true, "unsubscribe": true
		},
		"anonymousGroup": "all", "groups": [{"groupname": "all", "roles": [{"rolename": "some"}]}], "clients": [],
		"roles": [{"rolename": "some", "acls": [
			{"acltype": "subscribeLiteral", "topic": "forbidden", "allow": false}
		]}]}`), 0o600))
	m := startMosquitto(t, "plugin "+plugins[0], "plugin_opt_config_file "+config)
	for version, reason := range map[int]string{
		mqtt.Version5:   "Not authorized",
		mqtt.Version311: "Unspecified error (no reason given; is the user allowed to read this topic?)",
	} {
		c, err := Connect(t.Context(), SubscriberOptions{URL: m.url("mqtt"), Version: version})
		require.NoError(t, err)
		require.NoError(t, c.Subscribe(t.Context(), []string{"allowed"}, 1))
		err = c.Subscribe(t.Context(), []string{"allowed", "forbidden"}, 1)
		assert.EqualError(t, err,
			fmt.Sprintf("MQTT broker %s refused the subscription to forbidden: %s", m.addresses["mqtt"], reason))
		require.ErrorIs(t, err, mqtt.ErrRefused)
		c.Close()
	}
}

func TestAWrongPasswordIsAnError(t *testing.T) {
	t.Parallel()
	m := startMosquitto(t, "allow_anonymous false")
	for _, version := range versions {
		_, err := Connect(t.Context(), SubscriberOptions{URL: "mqtt://me:wrong@" + m.addresses["mqtt"], Version: version})
		assert.EqualError(t, err, fmt.Sprintf(`MQTT broker %s refused user "me": Not authorized`, m.addresses["mqtt"]))
		assert.ErrorIs(t, err, mqtt.ErrRefused)
	}
}

// The connection is cut with messages in flight. All arrive, at QoS 2 once.
func TestAPersistentSessionLosesNothingWhenItsConnectionIsLost(t *testing.T) {
	t.Parallel()
	m := startMosquitto(t)
	publish := publisher(t, m)
	const n = 200
	for _, version := range versions {
		for _, qos := range []byte{1, 2} {
			for _, scheme := range []string{"mqtt", "wss"} {
				name := fmt.Sprintf("MQTT %d %s QoS %d", version, scheme, qos)
				t.Run(name, func(t *testing.T) {
					topic := strings.ReplaceAll(name, " ", "/")
					c := subscribed(t, SubscriberOptions{
						URL: m.url(scheme), TLS: m.tls, ClientID: topic, Version: version, Persistent: true,
					}, qos, topic)
					assert.False(t, c.SessionPresent())
					var all []string
					published := 0
					for cuts := 0; ; cuts++ {
						result := reading(c, func(got []seen) {
							if distinct(slices.Concat(all, payloads(got))) == n || cuts < 3 && len(got) > 20 {
								_ = c.socket.Close() // before these are acknowledged
							}
						})
						for range 30 * (1 + cuts*n) { // after the first cut: all the rest
							if published < n {
								publish(topic, numbered(n)[published], qos)
								published++
							}
						}
						got, err := result()
						require.ErrorContains(t, err, "the connection ended")
						all = append(all, payloads(got)...)
						if distinct(all) == n {
							break
						}
						c, err = c.Reconnect(t.Context())
						require.NoError(t, err)
						require.True(t, c.SessionPresent())
					}
					if qos == 2 {
						assert.Equal(t, numbered(n), all)
					}
					require.NoError(t, c.Forget(t.Context()))
				})
			}
		}
	}
}

func distinct(payloads []string) int {
	set := map[string]bool{}
	for _, p := range payloads {
		set[p] = true
	}
	return len(set)
}

func TestAPersistentSessionEnds(t *testing.T) {
	t.Parallel()
	m := startMosquitto(t)
	for _, version := range versions {
		o := SubscriberOptions{URL: m.url("mqtt"), ClientID: fmt.Sprint("me", version), Version: version, Persistent: true}
		present := func() bool {
			c, err := Connect(t.Context(), o)
			require.NoError(t, err)
			_ = c.socket.Close() // keeps the session
			defer c.end(nil)
			return c.SessionPresent()
		}
		c := subscribed(t, o, 1, "a")
		c.end(nil)
		assert.True(t, present(), "after a loss")

		c, err := c.Reconnect(t.Context())
		require.NoError(t, err)
		c.Close()
		assert.Equal(t, version == mqtt.Version311, present(), "after Close")

		c = subscribed(t, o, 1, "a")
		c.end(nil)
		require.NoError(t, c.Forget(t.Context()))
		assert.False(t, present(), "after Forget")
	}
}

// Mosquitto reports a takeover only since 2.0.15, so only the embedded broker has to report it.
func TestASecondClientWithOurIDEndsTheConnection(t *testing.T) {
	t.Parallel()
	real, embedded := startMosquitto(t).url("mqtt"), embeddedBroker(t)
	for _, c := range []struct {
		url      string
		version  int
		reported bool
	}{{real, mqtt.Version311, false}, {real, mqtt.Version5, false}, {embedded, mqtt.Version311, false},
		{embedded, mqtt.Version5, true}} {
		o := SubscriberOptions{URL: c.url, ClientID: "me", Version: c.version}
		result := reading(subscribed(t, o, 1, "a"), func([]seen) {})
		second := subscribed(t, o, 1, "a")
		_, err := result()
		assert.ErrorContains(t, err, strings.TrimPrefix(c.url, "mqtt://"))
		if c.reported {
			assert.ErrorIs(t, err, ErrTakenOver)
		} else if c.version == mqtt.Version311 {
			assert.NotErrorIs(t, err, ErrTakenOver)
		}
		second.Close()
	}
}

func TestErrorsOfAnotherServer(t *testing.T) {
	t.Parallel()
	m := startMosquitto(t)
	_, err := Connect(t.Context(), SubscriberOptions{URL: m.url("mqtts"), TLS: &tls.Config{MinVersion: tls.VersionTLS12}})
	assert.ErrorContains(t, err,
		m.addresses["mqtts"]+" can't be reached: TLS handshake: tls: failed to verify certificate")
	_, err = Connect(t.Context(), SubscriberOptions{URL: m.url("wss")})
	assert.ErrorContains(t, err, m.addresses["wss"]+" can't be reached: tls: failed to verify certificate")

	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	_, err = Connect(t.Context(), SubscriberOptions{URL: "ws" + strings.TrimPrefix(web.URL, "http")})
	assert.EqualError(t, err, "MQTT broker "+web.Listener.Addr().String()+
		" can't be reached: websocket: bad handshake (HTTP 404 Not Found)")
}

func TestStatusIsOnlineOrOffline(t *testing.T) {
	t.Parallel()
	m := startMosquitto(t)
	for _, version := range versions {
		t.Run(fmt.Sprint("MQTT ", version), func(t *testing.T) {
			t.Parallel()
			name := fmt.Sprint("me", version)
			o := SubscriberOptions{URL: m.url("mqtt"), ClientID: name, Version: version, Status: "status/" + name}
			statuses := make(chan string, 10)
			watcher := subscribed(t, SubscriberOptions{URL: m.url("mqtt"), ClientID: "watcher of " + name}, 1, o.Status)
			reported := 0
			reading(watcher, func(got []seen) {
				for ; reported < len(got); reported++ {
					statuses <- got[reported].Payload
				}
			})

			lost := subscribed(t, o, 1, "messages")
			assert.Equal(t, "online", <-statuses)
			lost.end(nil) // without DISCONNECT, so the broker publishes the will
			assert.Equal(t, "offline", <-statuses)
			// It is retained: later subscribers get it too.
			late := subscribed(t, SubscriberOptions{URL: m.url("mqtt"), ClientID: "late for " + name}, 1, o.Status)
			got, _ := reading(late, func([]seen) { go late.Close() })()
			assert.Equal(t, []string{"offline"}, payloads(got))

			back, err := lost.Reconnect(t.Context())
			require.NoError(t, err)
			assert.Equal(t, "online", <-statuses)
			back.Close()
			assert.Equal(t, "offline", <-statuses)
			assert.Empty(t, <-statuses)

			// Regression: each run left a retained "offline", and later watchers got them all.
			later := subscribed(t, SubscriberOptions{URL: m.url("mqtt"), ClientID: "later for " + name}, 1, o.Status)
			second := subscribed(t, o, 1, "messages")
			defer second.Close()
			got, _ = reading(later, func([]seen) { go later.Close() })()
			assert.Equal(t, []string{"online"}, payloads(got))
		})
	}
}

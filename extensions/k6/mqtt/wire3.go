package mqtt

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
	"github.com/eclipse/paho.mqtt.golang/packets"
)

// dialect3 is MQTT 3.1.1, spoken by paho.mqtt.golang.
type dialect3 struct{ session paho.Store }

func newDialect3() *dialect3 { return &dialect3{paho.NewMemoryStore()} }

// refusals maps what a CONNACK refuses with [MQTT-3.2.2-4] to what a script author can do.
var refusals = map[error]string{
	packets.ErrorRefusedBadUsernameOrPassword: changeCredentials,
	packets.ErrorRefusedNotAuthorised:         changeCredentials,
	packets.ErrorRefusedIDRejected:            changeClientID,
	packets.ErrorRefusedBadProtocolVersion:    "use a broker that speaks MQTT 3.1.1",
	packets.ErrorRefusedServerUnavailable:     changeServer,
}

func (d *dialect3) connect(conn *timedConn, h *hello, on listener) (wire, error) {
	config := paho.NewClientOptions().
		SetProtocolVersion(mqtt311). // explicit, or paho tries MQTT 3.1 after a refusal
		SetClientID(h.clientID).
		SetUsername(h.username).
		SetPassword(h.password).
		SetCleanSession(h.cleanSession).
		SetKeepAlive(h.keepalive).
		SetAutoReconnect(false).
		SetConnectRetry(false).
		SetOrderMatters(true).
		SetStore(d.session).
		SetDefaultPublishHandler(func(_ paho.Client, m paho.Message) {
			// paho hands on each PUBLISH that it has read, once and in order, so the next time is this message's.
			conn.arrivals.handOn(func(received time.Time) {
				on.arrived(&incoming{topic: m.Topic(), payload: m.Payload(), received: received})
			})
		}).
		SetConnectionLostHandler(func(_ paho.Client, err error) {
			on.lost(err) // paho's goroutines have stopped: every message it read has been handed on
		}).
		SetCustomOpenConnectionFn(func(*url.URL, paho.ClientOptions) (net.Conn, error) { return conn, nil })
	config.Servers = []*url.URL{{}} // paho tries each once, and the connection is open
	if w := h.will; w != nil {
		config.SetBinaryWill(w.topic, w.payload, w.qos, w.retain)
	}
	client := paho.NewClient(config)
	token := client.Connect()
	<-token.Done()
	if err := withoutPrefix(token.Error()); err != nil {
		for refused, change := range refusals {
			if errors.Is(err, refused) {
				return nil, &refusal{err.Error(), change}
			}
		}
		return nil, err
	}
	return &wire3{client, conn}, nil
}

// withoutPrefix takes off the "network Error : " that paho puts before the cause.
func withoutPrefix(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok && errors.Is(err, packets.ErrorNetworkError) {
		if causes := joined.Unwrap(); len(causes) == 2 && causes[1] != nil {
			return causes[1]
		}
	}
	return err
}

type wire3 struct {
	paho paho.Client
	conn *timedConn
}

func (w *wire3) subscribe(filters []string, qos byte) answer {
	wanted := make(map[string]byte, len(filters))
	for _, filter := range filters {
		wanted[filter] = qos
	}
	return answer3{w.paho.SubscribeMultiple(wanted, nil)} // messages all go to the default handler
}

func (w *wire3) unsubscribe(filters []string) answer { return answer3{w.paho.Unsubscribe(filters...)} }

func (w *wire3) publish(m *outgoing) answer {
	return answer3{w.paho.Publish(m.topic, m.qos, m.retain, m.payload)}
}

func (w *wire3) disconnect(limit time.Duration) {
	w.paho.Disconnect(uint(limit.Milliseconds()))
	_ = w.conn.Close() // paho gives up at the limit, with messages that it has read still on their way
	w.conn.arrivals.drain(drainLimit)
}

type answer3 struct{ paho.Token }

func (a answer3) wait(over <-chan struct{}) (bool, error) {
	if _, ok := first(a.Done(), over); !ok {
		return false, nil
	}
	if err := a.Error(); err != nil {
		return true, err
	}
	if token, ok := a.Token.(*paho.SubscribeToken); ok {
		return true, refusedFilters(token.Result())
	}
	return true, nil
}

// refusedSubscription is the return code of SUBACK for a filter that was refused [MQTT-3.9.3-2]; paho reports no error.
const refusedSubscription = 0x80

func refusedFilters(granted map[string]byte) error {
	var refused []string
	for filter, code := range granted {
		if code == refusedSubscription {
			refused = append(refused, filter)
		}
	}
	if refused == nil {
		return nil
	}
	slices.Sort(refused)
	return fmt.Errorf("the broker refused the subscription to %s: check its access rules", strings.Join(refused, ", "))
}

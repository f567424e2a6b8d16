package mqtt

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
	"github.com/eclipse/paho.mqtt.golang/packets"
)

// dialect3 is MQTT 3.1.1, spoken by paho.mqtt.golang.
type dialect3 struct{ session *session3 }

func newDialect3() *dialect3 { return &dialect3{newSession3()} }

// session3 is paho's store, which paho shows each packet that it reads before anything else is done with it. paho hands on a QoS 2
// message each time that the broker sends it, so the session notes which were, until their PUBREL [MQTT-4.3.3-2].
type session3 struct {
	paho.Store

	mu         sync.Mutex
	unreleased map[uint16]int // by packet id: the connection of its last PUBLISH
	connection int
}

func newSession3() *session3 {
	return &session3{Store: paho.NewMemoryStore(), unreleased: map[uint16]int{}}
}

const inbound = "i." // begins paho's keys of packets that were read

// Put leaves DUP set only where the message has been handed on before: its first PUBLISH may as well have got lost. Without DUP it is
// another message whatever its id, of a broker that has lost the session [MQTT-3.3.1-1].
func (s *session3) Put(key string, packet packets.ControlPacket) {
	if strings.HasPrefix(key, inbound) {
		s.mu.Lock()
		switch p := packet.(type) {
		case *packets.PublishPacket:
			if p.Qos == 2 {
				p.Dup = p.Dup && s.unreleased[p.MessageID] > 0
				s.unreleased[p.MessageID] = s.connection
			}
		case *packets.PubrelPacket:
			delete(s.unreleased, p.MessageID)
		}
		s.mu.Unlock()
	}
	s.Store.Put(key, packet)
}

// begin is called before each connection.
func (s *session3) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connection++
}

// renew forgets what was before this connection: the broker has a new session.
func (s *session3) renew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.unreleased, func(_ uint16, connection int) bool { return connection < s.connection })
}

// repeated reports whether a message that went through Put was handed on before.
func repeated(m paho.Message) bool { return m.Qos() == 2 && m.Duplicate() }

// refusals maps what a CONNACK refuses with [MQTT-3.2.2-4] to what a script author can do.
var refusals = map[error]string{
	packets.ErrorRefusedBadUsernameOrPassword: changeCredentials,
	packets.ErrorRefusedNotAuthorised:         changeCredentials,
	packets.ErrorRefusedIDRejected:            changeClientID,
	packets.ErrorRefusedBadProtocolVersion:    "use a broker that speaks MQTT 3.1.1",
	packets.ErrorRefusedServerUnavailable:     changeServer,
}

func (d *dialect3) connect(conn *timedConn, h *hello, on listener) (wire, error) {
	d.session.begin()
	config := paho.NewClientOptions().
		SetProtocolVersion(mqtt311). // explicit, or paho tries MQTT 3.1 after a refusal
		SetClientID(h.clientID).
		SetUsername(h.username).
		SetPassword(h.password).
		SetCleanSession(h.cleanSession).
		SetKeepAlive(h.keepalive).
		SetPingTimeout(min(h.keepalive, longestPing)).
		SetAutoReconnect(false).
		SetConnectRetry(false).
		SetOrderMatters(true).
		SetStore(d.session).
		SetDefaultPublishHandler(func(_ paho.Client, m paho.Message) {
			// paho hands on each PUBLISH that it has read, once and in order, so the next time is this message's.
			conn.arrivals.handOn(func(received time.Time) {
				if repeated(m) {
					return
				}
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
	token := client.Connect().(*paho.ConnectToken)
	<-token.Done()
	if err := withoutPrefix(token.Error()); err != nil {
		for refused, change := range refusals {
			if errors.Is(err, refused) {
				return nil, &refusal{err.Error(), change}
			}
		}
		return nil, err
	}
	if !token.SessionPresent() {
		d.session.renew()
	}
	return &wire3{client, conn}, nil
}

// longestPing is how long a PINGRESP may take, where keepalive is no shorter.
const longestPing = 10 * time.Second

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

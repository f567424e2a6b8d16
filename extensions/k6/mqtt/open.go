package mqtt

import (
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
	"github.com/sirupsen/logrus"
	"go.k6.io/k6/v2/lib"
)

// linkOptions is what a connection attempt needs besides the server.
type linkOptions struct {
	client             *clientOptions
	connect            *connectOptions
	username, password string // from the credentials provider or the client's options; empty: the address's
	store              paho.Store
	dialer             lib.DialContexter
	tls                *tls.Config
	logger             logrus.FieldLogger
	onMessage          func(*link, paho.Message, time.Time)
	onLost             func(*link)
}

// openLink connects to one server and blocks until the broker's CONNACK, an error, connect_timeout or the context's end.
func openLink(ctx context.Context, s *server, o *linkOptions) (*link, error) {
	l := &link{
		ctx: ctx, logger: o.logger, calls: make(chan struct{}, 1),
		over: make(chan struct{}), gone: make(chan struct{}), written: make(chan struct{}),
	}
	var dialError error
	config := pahoOptions(s, o).
		SetDefaultPublishHandler(func(_ paho.Client, m paho.Message) { o.onMessage(l, m, time.Now()) }).
		SetConnectionLostHandler(func(_ paho.Client, err error) {
			// paho calls this after its goroutines have stopped: every message it read has been handed on.
			if l.end(lostError(err)) {
				<-l.whenIdle() // the calls that failed come before the loss
				close(l.gone)
				o.onLost(l)
			}
		}).
		SetCustomOpenConnectionFn(func(*url.URL, paho.ClientOptions) (net.Conn, error) {
			limited, cancel := context.WithTimeout(ctx, o.connect.timeout)
			defer cancel()
			conn, err := s.open(limited, o.dialer, o.tls)
			if err != nil {
				dialError = err
				return nil, err
			}
			l.mu.Lock()
			l.conn = conn
			l.mu.Unlock()
			if ctx.Err() != nil { // cut may have come before there was something to close
				l.cut()
			}
			return conn, nil
		})
	l.paho = paho.NewClient(config)
	token := l.paho.Connect()
	stop := context.AfterFunc(ctx, l.cut) // the wait for CONNACK has no context
	<-token.Done()
	stop()
	if err := token.Error(); err != nil {
		if dialError != nil {
			err = dialError
		}
		return nil, connectError(s, err, o.connect.timeout)
	}
	go l.write()
	return l, nil
}

func pahoOptions(s *server, o *linkOptions) *paho.ClientOptions {
	username, password := o.username, o.password
	if username == "" {
		username, password = s.username, s.password
	}
	config := paho.NewClientOptions().
		SetProtocolVersion(4). // explicit, or paho tries MQTT 3.1 after a refusal
		SetClientID(o.client.clientID).
		SetUsername(username).
		SetPassword(password).
		SetCleanSession(o.connect.cleanSession).
		SetKeepAlive(o.connect.keepalive).
		SetConnectTimeout(o.connect.timeout).
		SetAutoReconnect(false).
		SetConnectRetry(false).
		SetOrderMatters(true).
		SetStore(o.store)
	config.Servers = []*url.URL{s.url}
	if will := o.client.will; will != nil {
		config.SetBinaryWill(will.topic, will.payload, will.qos, will.retain)
	}
	return config
}

package receiver

import (
	"errors"
	"fmt"
	"net"
	"net/url"
)

// Address is a broker's address, taken apart.
type Address struct {
	Host     string // host:port
	Secure   bool   // TLS
	Web      bool   // WebSocket
	Username string // empty without one
	Password string

	url *url.URL // of a WebSocket, without the credentials
}

// webPath is where brokers offer MQTT over WebSocket (EMQX, HiveMQ; Mosquitto takes any path).
const webPath = "/mqtt"

// ParseAddress reads a URL like mqtt://user:password@host:1883. An error says what is allowed, and does not repeat the
// URL, which may hold a password.
func ParseAddress(raw string) (Address, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" {
		return Address{}, errors.New("not an MQTT address; write it like " +
			"mqtt://host:port, mqtts://host:port, ws://host:port/path or wss://host:port/path")
	}
	a, port := Address{}, ""
	switch u.Scheme {
	case "mqtt", "tcp":
		port = "1883"
	case "mqtts", "ssl", "tls":
		a.Secure, port = true, "8883"
	case "ws":
		a.Web, port = true, "80"
	case "wss":
		a.Web, a.Secure, port = true, true, "443"
	default:
		return Address{}, fmt.Errorf(
			"scheme %q of the MQTT address is not supported; allowed: mqtt, tcp, mqtts, ssl, tls, ws, wss", u.Scheme)
	}
	if u.Port() != "" {
		port = u.Port()
	}
	a.Host = net.JoinHostPort(u.Hostname(), port)
	if u.User != nil {
		a.Username = u.User.Username()
		a.Password, _ = u.User.Password()
	}
	if a.Web {
		u.User, u.Host = nil, a.Host
		if u.Path == "" {
			u.Path = webPath
		}
		a.url = u
	}
	return a, nil
}

// Package mqttwire is what all clients of the project have in common: the stream that MQTT packets run over (TCP, TLS or a
// WebSocket), and the packets, of MQTT 3.1.1 and 5, those of a broker checked against the standard.
package mqttwire

import (
	"cmp"
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

	URL *url.URL // of a WebSocket, without the credentials
}

// schemes are what a URL's scheme says.
var schemes = map[string]struct {
	port        string // by default
	secure, web bool
}{
	"mqtt":  {port: "1883"},
	"tcp":   {port: "1883"},
	"mqtts": {port: "8883", secure: true},
	"ssl":   {port: "8883", secure: true},
	"tls":   {port: "8883", secure: true},
	"ws":    {port: "80", web: true},
	"wss":   {port: "443", secure: true, web: true},
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
	scheme, ok := schemes[u.Scheme]
	if !ok {
		return Address{}, fmt.Errorf(
			"scheme %q of the MQTT address is not supported; allowed: mqtt, tcp, mqtts, ssl, tls, ws, wss", u.Scheme)
	}
	a := Address{Host: net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), scheme.port)), Secure: scheme.secure, Web: scheme.web}
	if u.User != nil {
		a.Username = u.User.Username()
		a.Password, _ = u.User.Password()
	}
	if a.Web {
		u.User, u.Host = nil, a.Host
		if u.Path == "" {
			u.Path = webPath
		}
		a.URL = u
	}
	return a, nil
}

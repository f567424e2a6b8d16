// Package mqttwire opens the stream that MQTT packets run over: TCP, TLS or a WebSocket.
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

// Scheme is what a URL's scheme says.
type Scheme struct {
	Port        string // by default
	Secure, Web bool
}

// Schemes are those of brokers.
var Schemes = map[string]Scheme{
	"mqtt":  {Port: "1883"},
	"tcp":   {Port: "1883"},
	"mqtts": {Port: "8883", Secure: true},
	"ssl":   {Port: "8883", Secure: true},
	"tls":   {Port: "8883", Secure: true},
	"ws":    {Port: "80", Web: true},
	"wss":   {Port: "443", Secure: true, Web: true},
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
	scheme, ok := Schemes[u.Scheme]
	if !ok {
		return Address{}, fmt.Errorf(
			"scheme %q of the MQTT address is not supported; allowed: mqtt, tcp, mqtts, ssl, tls, ws, wss", u.Scheme)
	}
	a := Address{Host: net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), scheme.Port)), Secure: scheme.Secure, Web: scheme.Web}
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

// Package address reads the addresses of servers: redis://user:password@host:port/0, mqtt://host, https://host/api.
// Each part is used as it is written, or refused: the URL parsers of clients ignore some parts, and take others for
// something else. pipeline/shared/address.ts is the same; both are tested against
// reports/contract/address.vectors.json.
package address

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kind is what a setting may be the address of.
type Kind struct {
	schemes []string
	like    string // the form, for errors
}

// The kinds of addresses.
var (
	Redis = Kind{[]string{"redis", "rediss"},
		"redis://user:password@host:port/0, and several host:port for a Redis Cluster"}
	MQTT = Kind{[]string{"mqtt", "mqtts", "tcp", "ssl", "tls", "ws", "wss"},
		"mqtt://host:port, mqtts://host:port, ws://host:port/path or wss://host:port/path"}
	HTTP = Kind{[]string{"http", "https"}, "http://host:port or https://host:port"}
	Any  = Kind{slices.Concat(Redis.schemes, MQTT.schemes, HTTP.schemes), "redis://, mqtt:// or http://"}
)

// Address is a parsed address.
type Address struct {
	Scheme   string // lower-case
	Username string // decoded; empty: none
	Password string // decoded; empty: none
	Nodes    []Node // one, or some of a Redis Cluster
	Database int    // only Redis has one
	Target   string // path and query of http, https, ws and wss, with the bytes as they were written
}

// Node is where a server listens.
type Node struct {
	Host string `json:"host"` // an IPv6 address has no brackets
	Port int    `json:"port"`
}

// String is host:port, with brackets around an IPv6 address.
func (n Node) String() string { return net.JoinHostPort(n.Host, strconv.Itoa(n.Port)) }

var ports = map[string]int{
	"redis": 6379, "rediss": 6379,
	"mqtt": 1883, "tcp": 1883, "mqtts": 8883, "ssl": 8883, "tls": 8883, "ws": 80, "wss": 443,
	"http": 80, "https": 443,
}

// Secure reports whether the connection is TLS.
func (a Address) Secure() bool {
	return slices.Contains([]string{"rediss", "mqtts", "ssl", "tls", "wss", "https"}, a.Scheme)
}

// Web reports whether it is MQTT in a WebSocket.
func (a Address) Web() bool { return a.Scheme == "ws" || a.Scheme == "wss" }

func (a Address) redis() bool { return a.Scheme == "redis" || a.Scheme == "rediss" }
func (a Address) http() bool  { return a.Scheme == "http" || a.Scheme == "https" }

var (
	form     = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)(.*)$`)
	database = regexp.MustCompile(`^/?(0|[1-9][0-9]{0,4})?$`)
	port     = regexp.MustCompile(`^[1-9][0-9]{0,4}$`)
	label    = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$`)
	number   = regexp.MustCompile(`^([0-9]+|0[xX][0-9A-Fa-f]*)$`) // a host whose last label matches is an IPv4 address
	escape   = regexp.MustCompile(`^%[0-9A-Fa-f]{2}`)
)

// Parse reads an address. The error says what is wrong and what is allowed. It does not repeat the address, which may
// hold a password.
func Parse(kind Kind, text string) (a Address, err error) {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] >= 0x7f {
			return a, fmt.Errorf("its byte %d is a space, a control character or no ASCII, which is written %%%02X",
				i+1, text[i])
		}
	}
	parts := form.FindStringSubmatch(text)
	if parts == nil {
		return a, fmt.Errorf("it has no scheme; allowed: %s", kind.like)
	}
	a.Scheme = strings.ToLower(parts[1])
	if !slices.Contains(kind.schemes, a.Scheme) {
		return a, fmt.Errorf("its scheme is %q; allowed: %s", a.Scheme, kind.like)
	}
	identity, hosts, known := cutLast(parts[2], "@")
	if !known && strings.Contains(parts[3], "@") && !a.http() && !a.Web() {
		return a, errors.New("a / ? or # of a user or a password is written %2F, %3F or %23")
	}
	if known {
		if err := a.identify(identity); err != nil {
			return a, err
		}
	}
	if a.Nodes, err = nodes(hosts, a.Scheme); err != nil {
		return a, err
	}
	return a, a.end(parts[3])
}

func cutLast(s, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(s, separator); i >= 0 {
		return s[:i], s[i+len(separator):], true
	}
	return "", s, false
}

// identify reads user:password.
func (a *Address) identify(text string) (err error) {
	if a.http() {
		return errors.New("it has a user or a password, which would end up in tags: use a token (INGEST_TOKEN)")
	}
	if strings.Contains(text, "@") {
		return errors.New("it has a second @; an @ of a user or a password is written %40")
	}
	user, password, both := strings.Cut(text, ":")
	if a.Username, err = decode(user); err != nil {
		return err
	}
	if a.Password, err = decode(password); err != nil {
		return err
	}
	switch {
	case user == "" && password == "":
		return errors.New("it has an @ with no user and no password before it; " +
			"allowed: user:password@host, or the host alone")
	case both && password == "":
		return errors.New("it has an empty password; allowed: user:password@host")
	case a.redis() && !both:
		return errors.New("it has a user and no password; allowed: user:password@host, " +
			":password@host, or the host alone")
	}
	return nil
}

// decode undoes percent-encoding.
func decode(text string) (string, error) {
	decoded, err := url.PathUnescape(text) // a + stays one
	switch {
	case err != nil:
		return "", errors.New("a % of a user or a password is written %25")
	case !utf8.ValidString(decoded) || strings.Contains(decoded, "\x00"):
		return "", errors.New("its user or password is no UTF-8 text once it is decoded")
	}
	return decoded, nil
}

// nodes reads host:port, or several between commas.
func nodes(text, scheme string) (all []Node, err error) {
	parts := strings.Split(text, ",")
	if len(parts) > 1 && scheme != "redis" && scheme != "rediss" {
		return nil, errors.New("it has a comma in its host; allowed: one host:port")
	}
	for _, part := range parts {
		node, err := nodeOf(part, scheme)
		if err != nil {
			return nil, err
		}
		all = append(all, node)
	}
	return all, nil
}

func nodeOf(text, scheme string) (node Node, err error) {
	node = Node{text, ports[scheme]}
	bracketed := strings.HasPrefix(text, "[")
	if !bracketed && strings.Count(text, ":") > 1 {
		return node, errors.New("an IPv6 address must be in brackets: [::1]:port")
	}
	if colon := strings.LastIndex(text, ":"); colon > strings.LastIndex(text, "]") {
		given := text[colon+1:]
		node.Host = text[:colon]
		node.Port, _ = strconv.Atoi(given)
		if !port.MatchString(given) || node.Port > 65535 {
			return node, errors.New("its port is not a number from 1 to 65535")
		}
	}
	if node.Host == "" {
		return node, errors.New("it has no host, or an empty one in its list; allowed: host:port")
	}
	if bracketed {
		inner, closed := strings.CutSuffix(node.Host[1:], "]")
		ip, err := netip.ParseAddr(inner)
		if err != nil || !closed || !ip.Is6() || ip.Zone() != "" {
			return node, errors.New("the brackets in its host hold no IPv6 address; allowed: [::1]:port")
		}
		node.Host = inner
		return node, nil
	}
	return node, checkName(node.Host)
}

// checkName checks a host that is a name or an IPv4 address.
func checkName(host string) error {
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	last := labels[len(labels)-1]
	if number.MatchString(last) {
		if ip, err := netip.ParseAddr(host); err != nil || !ip.Is4() {
			return errors.New("its host ends in a number and is no IPv4 address; " +
				"allowed: four numbers from 0 to 255, like 127.0.0.1")
		}
		return nil
	}
	if len(host) > 253 || slices.ContainsFunc(labels, func(l string) bool { return !label.MatchString(l) }) {
		return errors.New("its host is not a name; allowed: letters, digits, - and _, with dots between")
	}
	return nil
}

// end reads what follows the host.
func (a *Address) end(text string) error {
	path, _, query := strings.Cut(text, "?")
	switch {
	case strings.Contains(text, "#"):
		return errors.New("it has a #; allowed: nothing after the path")
	case query && a.http():
		return errors.New("it has a ?; a query belongs to the path (INGEST_PATH)")
	case query && !a.Web():
		return errors.New("it has a ?; allowed: nothing after the path, since options of a client are settings")
	case a.http() || a.Web():
		for i := range len(text) {
			if text[i] == '%' && !escape.MatchString(text[i:]) {
				return errors.New("a % of its path is written %25")
			}
		}
		a.Target = text
	case a.redis():
		given := database.FindStringSubmatch(path)
		if given == nil {
			return errors.New("the database after its host is not a number; allowed: like /0")
		}
		a.Database, _ = strconv.Atoi(given[1])
		if a.Database > 0 && len(a.Nodes) > 1 {
			return errors.New("it names nodes of a Redis Cluster, which has no database but 0")
		}
	case path != "" && path != "/":
		return errors.New("it has a path; allowed: nothing after host:port")
	}
	return nil
}

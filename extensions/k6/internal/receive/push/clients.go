package push

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/address"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// clientsMost bounds the connections of a run.
const clientsMost = 20_000

// Target is the placeholder for a message's target, in an address and in what is sent first.
const Target = "{{target}}"

var placeholder = regexp.MustCompile(`\{\{\s*target\s*\}\}`)

// Clients are the connections of a run, as options say.
type Clients struct {
	Name        string // what errors call the options
	URL         string
	Headers     map[string]string
	Connections int      // 0: as many as needed
	First       []string // what each sends first
	Hops        string   // the path of the stamps in a message of JSON
	Lines       bool     // messages come as lines, with LF whatever their ends were
	Ask         string   // becomes receive.Path's Ask

	Number int // how many connections there are, as Check has found
}

// targeted reports whether each client subscribes to targets of its own.
func (c *Clients) targeted() bool {
	return placeholder.MatchString(c.URL) || slices.ContainsFunc(c.First, placeholder.MatchString)
}

// perTarget reports whether each client has one target, which is in its address.
func (c *Clients) perTarget() bool { return placeholder.MatchString(c.URL) }

// Check refuses options that are wrong or do not fit a profile.
func (c *Clients) Check(p *profile.Profile, schemes ...string) error {
	scheme, _, found := strings.Cut(c.URL, "://")
	if !found || !slices.Contains(schemes, strings.ToLower(scheme)) {
		return fmt.Errorf("%s %q is not where a server can push; allowed: %s://host/path", c.option(),
			words.Mask(c.URL), strings.Join(schemes, ":// or "))
	}
	a, err := c.address()
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", c.option(), err)
	case a.Username != "" || a.Password != "":
		return fmt.Errorf("%s has a user or a password: use %s.headers", c.option(), c.Name)
	case c.Connections < 0 || c.Connections > clientsMost:
		return fmt.Errorf("%s.connections %d is outside 1 to %d", c.Name, c.Connections, clientsMost)
	case strings.Contains(c.Hops, "\x00") || strings.ContainsAny(c.Hops, "|#*?@!{}[]"):
		return fmt.Errorf("%s.hops %q is not the path of a field, like meta.hops", c.Name, c.Hops)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		if !headerName.MatchString(name) || strings.ContainsAny(c.Headers[name], "\r\n\x00") {
			return fmt.Errorf("%s.headers has a field %q that no request can have", c.Name, name)
		}
	}
	return c.checkNumber(p)
}

var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$") // RFC 9110, 5.6.2

// address is where the server is. Its query may be any.
func (c *Clients) address() (address.Address, error) {
	where, query, _ := strings.Cut(placeholder.ReplaceAllString(c.URL, "target"), "?")
	if _, err := url.ParseQuery(query); err != nil || strings.ContainsAny(query, "# \t\r\n") {
		return address.Address{}, errors.New("its query has a byte that is written with % there")
	}
	return address.Parse(address.Any, where)
}

// option names the option of the address, with the setting of scripts.
func (c *Clients) option() string { return c.Name + ".url (" + strings.ToUpper(c.Name) + "_URL)" }

// checkNumber checks that every message is due at as many clients as it has deliveries.
func (c *Clients) checkNumber(p *profile.Profile) error {
	most := deliveries(p)
	for _, f := range p.Flows {
		switch n := max(c.Connections, most); {
		case !c.targeted() && n > profile.MaxSubscribers:
			return fmt.Errorf("%s.connections %d: each gets every message, and a message has up to %d deliveries; "+
				"with %s in %s.url or in what is sent first each "+
				"client has targets of its own", c.Name, n, profile.MaxSubscribers, Target, c.Name)
		case !c.targeted() && f.Deliveries != n:
			return fmt.Errorf("each of the %d connections of %s gets every message, but flow %q has %d deliveries; "+
				"without that, %s stands in %s.url "+
				"or in what is sent first", n, c.Name, f.Name, f.Deliveries, Target, c.Name)
		case c.perTarget() && c.Connections > 0:
			return fmt.Errorf("%s.connections is set, but with %s in %s.url there is one for each target "+
				"and delivery: leave it out", c.Name, Target, c.Name)
		case c.targeted() && c.Connections%most != 0:
			return fmt.Errorf("%s.connections %d is not a multiple of %d, the deliveries of a message", c.Name,
				c.Connections, most)
		}
	}
	if useful := most * targets(p); c.targeted() && c.Connections > useful {
		return fmt.Errorf("%s.connections %d: the flows have targets for %d, and the others would get nothing: "+
			"fewer connections, or more targets",
			c.Name, c.Connections, useful)
	}
	if c.Number = len(c.plan(p)); c.Number > clientsMost {
		return fmt.Errorf("%s.url has %s, and the flows have %d targets with their deliveries; "+
			"up to %d connections are allowed: fewer targets",
			c.Name, Target, c.Number, clientsMost)
	}
	return nil
}

func deliveries(p *profile.Profile) (most int) {
	for _, f := range p.Flows {
		most = max(most, f.Deliveries)
	}
	return most
}

// targets is the largest number of targets of a flow.
func targets(p *profile.Profile) (most int) {
	for _, f := range p.Flows {
		most = max(most, f.Targets)
	}
	return most
}

// Client is one connection.
type Client struct {
	URL        string
	First      []string
	Subscriber int   // its number in the ledger: which delivery of a message it gets
	Targets    []int // that it holds, by their number, ascending; nil: all
}

// plan returns the clients of a profile.
//
// Without targets each gets every message. With targets, each target has as many clients as a message of it has
// deliveries, and a client gets the same one of them of all its targets: so a message has few subscribers, however many
// clients there are.
func (c *Clients) plan(p *profile.Profile) (all []Client) {
	most := deliveries(p)
	if !c.targeted() {
		for i := range max(c.Connections, most) {
			all = append(all, Client{URL: c.URL, First: c.First, Subscriber: i})
		}
		return all
	}
	groups := max(1, c.Connections/most)
	if !c.perTarget() {
		for i := range groups * most {
			all = append(all, Client{URL: c.URL, Subscriber: i % most})
		}
	}
	numbers := profile.NewTargets(p.Flows)
	seen := map[string]bool{}
	for flow, f := range p.Flows {
		if seen[f.Target] {
			continue
		}
		seen[f.Target] = true
		for i := range f.Targets {
			number := numbers.First(flow) + i
			target := f.TargetOf(i)
			for d := range f.Deliveries {
				if c.perTarget() {
					one := c.of(target, d)
					one.Targets = []int{number}
					all = append(all, one)
					continue
				}
				one := &all[i%groups*most+d]
				one.Targets = append(one.Targets, number)
				for _, text := range c.of(target, d).First {
					if !slices.Contains(one.First, text) { // one without a target is sent once
						one.First = append(one.First, text)
					}
				}
			}
		}
	}
	return all
}

// of returns the client of one target.
func (c *Clients) of(target string, subscriber int) Client {
	escaped := strings.ReplaceAll(url.QueryEscape(target), "%2F", "/")
	one := Client{URL: placeholder.ReplaceAllLiteralString(c.URL, escaped), Subscriber: subscriber}
	for _, text := range c.First {
		one.First = append(one.First, placeholder.ReplaceAllLiteralString(text, target))
	}
	return one
}

// Describe implements most of receive.Source, of checked options.
func (c *Clients) Describe() receive.Description {
	server := receive.Server{Option: c.option(), Direct: true}
	if a, err := c.address(); err == nil {
		server.Host = a.Nodes[0].String()
		server.URL = a.Scheme + "://" + server.Host
	}
	d := receive.Description{
		Words: fmt.Sprintf("the clients hold %s %s: does the pipeline push there?", server.Option,
			words.Mask(c.URL)),
		Servers: []receive.Server{server},
	}
	if c.targeted() {
		d.Files = c.Number
		return d
	}
	d.Connections, d.Common = c.Number, true
	d.NoCanary = fmt.Sprintf("all clients of %s get every message, so a canary has none of its own", c.Name)
	return d
}

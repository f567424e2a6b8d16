// Package mqtt is the source of a run whose messages arrive at subscribers of an MQTT broker: the connections that hold
// its topics, over internal/mqtt. Their reader is our own because the time of arrival is what the project measures:
// paho.golang takes 17.7 µs of CPU a message, which would delay the load.
package mqtt

import (
	"errors"
	"fmt"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqtt"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
)

// Options are the settings of the broker that delivers the messages; index.d.ts documents them.
type Options struct {
	URL         string   `json:"url"`
	Username    string   `json:"username"`
	Password    string   `json:"password"`
	Prefix      string   `json:"prefix"`
	QoS         int      `json:"qos"`
	Version     string   `json:"version"`
	Session     string   `json:"session"`
	Topics      string   `json:"topics"`
	Filter      string   `json:"filter"`
	Connections int      `json:"connections"`
	Status      string   `json:"status"`
	More        []string `json:"more"` // brokers besides URL
}

// Defaults are the options of a script that sets only the address.
func Defaults() Options {
	return Options{Prefix: "messages/", QoS: 1, Version: "5", Session: "clean", Topics: exactTopics}
}

// persistentSession is a session that the broker keeps while a subscriber is away.
const persistentSession = "persistent"

// mqttVersions are protocol levels (MQTT 5, 3.1.2.2).
var mqttVersions = map[string]int{"3.1.1": 4, "5": 5}

// Check refuses settings that do not fit a profile.
func (o *Options) Check(p *profile.Profile) error {
	if o.URL == "" {
		return errors.New("mqtt.url (MQTT_URL) is not set, and nothing else says where messages arrive; allowed: " +
			"mqtt://host:port; arrive in a pipeline file, ARRIVE, or the option webhook, websocket, sse, arrived, answers " +
			"or queue")
	}
	if _, err := mqtt.ParseAddress(o.URL); err != nil {
		return fmt.Errorf("mqtt.url (MQTT_URL): %w", err)
	}
	if o.QoS < 0 || o.QoS > 2 {
		return fmt.Errorf("mqtt.qos %d is not 0, 1 or 2", o.QoS)
	}
	if mqttVersions[o.Version] == 0 {
		return fmt.Errorf("mqtt.version %q is neither \"5\" nor \"3.1.1\"", o.Version)
	}
	if o.Session != "clean" && o.Session != persistentSession {
		return fmt.Errorf("mqtt.session %q is neither \"clean\" nor \"persistent\"", o.Session)
	}
	if o.Session == persistentSession && o.QoS == 0 {
		return errors.New("mqtt.session \"persistent\" needs mqtt.qos 1 or 2: a broker need not keep messages of QoS 0")
	}
	switch o.Topics {
	case exactTopics, wildcardTopics:
	case sharedTopics:
		for _, f := range p.Flows {
			if f.Deliveries != 1 {
				return fmt.Errorf("mqtt.topics \"shared\" delivers each message once, but flow %q has %d deliveries",
					f.Name, f.Deliveries)
			}
		}
	default:
		return fmt.Errorf("mqtt.topics %q is not \"exact\", \"wildcard\" or \"shared\"", o.Topics)
	}
	for _, f := range p.Flows {
		if n := max(p.Subscribers(), o.Connections); o.Filter != "" && f.Deliveries != n {
			return fmt.Errorf("mqtt.filter hands every message to all %d connections, but flow %q has %d deliveries", n,
				f.Name, f.Deliveries)
		}
	}
	if err := o.checkNames(p); err != nil {
		return err
	}
	if err := o.checkTopics(); err != nil {
		return err
	}
	for _, more := range o.More {
		if _, err := mqtt.ParseAddress(more); err != nil {
			return fmt.Errorf("mqtt.more: %w", err)
		}
	}
	for _, f := range p.Flows {
		if len(o.More) > 0 && (f.Deliveries != 1 || o.Connections > 0) {
			return fmt.Errorf("mqtt.more spreads topics over brokers, each with a connection of its own: "+
				"flow %q has %d deliveries, 1 is allowed, and no mqtt.connections", f.Name, f.Deliveries)
		}
	}
	if o.Connections < 0 || o.Connections > profile.MaxSubscribers {
		return fmt.Errorf("mqtt.connections %d is outside 1 to %d", o.Connections, profile.MaxSubscribers)
	}
	return nil
}

// checkNames refuses a target by name that the filter of another flow's targets holds too.
func (o *Options) checkNames(p *profile.Profile) error {
	if o.Topics == exactTopics || o.Filter != "" {
		return nil
	}
	for _, f := range p.Flows {
		for _, name := range f.Names {
			for _, other := range p.Flows {
				level, below := strings.CutPrefix(name, other.Target+"/")
				if other.Names == nil && below && !strings.Contains(level, "/") {
					return fmt.Errorf("mqtt.topics %q: the filter of flow %q also holds the target %q of flow %q; allowed: \"exact\"",
						o.Topics, other.Name, name, f.Name)
				}
			}
		}
	}
	return nil
}

// Describe implements receive.Source.
func (o *Options) Describe() receive.Description {
	const words = "the subscribers hold %s at QoS %d: does the pipeline publish there? May this user " +
		"read it (the broker's ACL)?"
	d := receive.Description{
		Words:  fmt.Sprintf(words, fmt.Sprintf("targets behind mqtt.prefix (TOPIC_PREFIX) %q", o.Prefix), o.QoS),
		Prefix: o.Prefix, AtMostOnce: o.QoS == 0, Connections: max(o.Connections, o.brokers()),
	}
	if o.Version == "5" {
		d.Headers = "user properties"
	}
	if o.Filter != "" {
		d.Words = fmt.Sprintf(words, fmt.Sprintf("mqtt.filter (FILTER) %q", o.Filter), o.QoS)
		d.NoCanary = "mqtt.filter is set, so it is not known where the canary arrives"
		d.Common = true
	}
	for _, broker := range append([]string{o.URL}, o.More...) {
		s := receive.Server{Option: "mqtt.url (MQTT_URL)", URL: broker}
		if a, err := mqtt.ParseAddress(broker); err == nil && !a.Web {
			s.Host = a.Host
		}
		d.Servers = append(d.Servers, s)
	}
	return d
}

// line makes one connection of a run, or of an instance of it, under its own name.
func (o *Options) line(n network.Network, run, name string, topics []string) *line {
	return &line{topics: topics, qos: byte(o.QoS), options: SubscriberOptions{
		URL: o.URL, Username: o.Username, Password: o.Password, Version: mqttVersions[o.Version],
		ClientID: "arrival-" + run + "-" + name, TLS: n.TLS, Dial: n.DialContext,
	}}
}

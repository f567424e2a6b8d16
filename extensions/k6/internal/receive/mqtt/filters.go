package mqtt

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/mqtt"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
)

func (o *Options) brokers() int { return 1 + len(o.More) }

// broker is the address for connection i of the subscribers.
func (o *Options) broker(i int) string { return mqtt.Broker(o.URL, o.More, i) }

// Kinds of subscriptions.
const (
	exactTopics    = "exact"    // each topic by name
	wildcardTopics = "wildcard" // all topics of a target with one filter
	// wildcards in one shared subscription (MQTT 5, 4.8.2): each message goes to one connection
	sharedTopics = "shared"
)

// filters returns the topic filters of each connection of a run's instance.
//
// Exact: target i of a flow with d deliveries is held by the connections i, i+1, … i+d−1 (modulo their number),
// so each message is due at exactly d of them, and their load is even. Wildcard: the first d connections hold
// all targets (those with names by their names). Shared: all connections do, and each message is due at one of them.
//
// With several brokers, each has one connection that holds everything there.
//
// The group of a shared subscription is unique to the run: leftover subscribers of another run would receive a
// share.
func (o *Options) filters(p *profile.Profile, name string) [][]string {
	filters := make([][]string, p.Subscribers())
	if o.Filter != "" { // the pipeline's own topics: each connection gets every message
		for c := range filters {
			filters[c] = []string{o.Filter}
		}
		return filters
	}
	seen := map[string]bool{}
	for _, f := range p.Flows {
		if seen[f.Target] {
			continue
		}
		seen[f.Target] = true
		all := []string{o.Prefix + f.Target + "/+"}
		if f.Names != nil {
			all = nil
			for i := range f.Targets {
				all = append(all, o.Prefix+f.TargetOf(i))
			}
		}
		switch o.Topics {
		case sharedTopics:
			for c := range filters {
				for _, filter := range all {
					filters[c] = append(filters[c], "$share/arrival-"+name+"/"+filter)
				}
			}
		case wildcardTopics:
			for c := range max(f.Deliveries, min(len(filters), o.brokers())) {
				filters[c] = append(filters[c], all...)
			}
		default:
			for i := range f.Targets {
				for d := range max(f.Deliveries, min(len(filters), o.brokers())) {
					c := (i + d) % len(filters)
					filters[c] = append(filters[c], o.Prefix+f.TargetOf(i))
				}
			}
		}
	}
	return filters
}

// place is the Place of the Taker of a connection: the target that is in the topic of the message.
func (o *Options) place(p *run.Parts, l *line, connection int) func(int, []byte) int {
	connections := p.Profile.Subscribers()
	told := p.Pacer.Told()
	return func(seq int, payload []byte) int {
		if !told && !p.Addressed(seq, payload) {
			return 0
		}
		name, ours := bytes.CutPrefix(l.topic, []byte(o.Prefix))
		target, is := p.Targets.Number(name)
		switch {
		case told && ours && is: // it is for whom it came
			return 1 + target
		case told:
			return 0
		}
		if !ours || !is || !o.holds(p.Targets, target, connection, connections) {
			return ledger.NotHeld
		}
		return 1 + target
	}
}

// holds reports whether a connection has subscribed to a target, as filters does.
func (o *Options) holds(numbers profile.Targets, target, connection, connections int) bool {
	within, deliveries := numbers.Within(target)
	deliveries = max(deliveries, min(connections, o.brokers()))
	switch o.Topics {
	case sharedTopics:
		return true
	case wildcardTopics:
		return connection < deliveries
	}
	return (connection-within%connections+connections)%connections < deliveries
}

// checkTopics refuses what no broker takes as the name of a topic, or as a filter.
func (o *Options) checkTopics() error {
	for _, begin := range []struct{ name, text string }{
		{"mqtt.prefix (TOPIC_PREFIX)", o.Prefix}, {"mqtt.status", o.Status},
	} {
		if strings.ContainsAny(begin.text, "+#") {
			return fmt.Errorf("%s %q begins the name of a topic: + and # are not allowed", begin.name, begin.text)
		}
		if strings.HasPrefix(begin.text, "$share/") {
			return fmt.Errorf("%s %q begins with $share/, and nobody can publish there: a prefix without it is allowed",
				begin.name, begin.text)
		}
		if err := checkTopic(begin.name, begin.text); err != nil {
			return err
		}
	}
	return o.checkFilter()
}

// checkTopic checks the text of a topic (MQTT 5, 1.5.4 and 4.7.3).
func checkTopic(name, text string) error {
	switch {
	case !utf8.ValidString(text):
		return fmt.Errorf("%s %q is not UTF-8", name, text)
	case strings.ContainsFunc(text, unicode.IsControl):
		return fmt.Errorf("%s %q has a line break or another control character, which no topic can have", name, text)
	case len(text) > mqtt.MaxField:
		return fmt.Errorf("%s has %d bytes, and a topic may have %d", name, len(text), mqtt.MaxField)
	}
	return nil
}

// checkFilter checks the places of the wildcards (MQTT 5, 4.7.1).
func (o *Options) checkFilter() error {
	const name = "mqtt.filter (FILTER)"
	if err := checkTopic(name, o.Filter); err != nil {
		return err
	}
	if strings.HasPrefix(o.Filter, "$share/") {
		return fmt.Errorf("%s %q is a shared subscription, in which others may take messages of the run: "+
			"a filter without $share is allowed",
			name, o.Filter)
	}
	levels := strings.Split(o.Filter, "/")
	for i, level := range levels {
		switch {
		case level == "+", level == "#" && i == len(levels)-1:
		case strings.Contains(level, "#"):
			return fmt.Errorf("%s %q has a # that is not its whole last level, like devices/#", name, o.Filter)
		case strings.Contains(level, "+"):
			return fmt.Errorf("%s %q has a + that is not a whole level, like devices/+/events", name, o.Filter)
		}
	}
	return nil
}

package mqtt

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqtt"
)

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

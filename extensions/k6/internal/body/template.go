package body

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fuzz"
)

// Format describes the messages.
type Format struct {
	// with {{id}}, {{target}}, {{payload}} and {{webhook}}; empty: the format of this repository's pipeline
	Template string
	Webhook  string     // what {{webhook}} stands for; empty: no URL is known
	ID       string     // the field of the default template that has the id; dots between nested fields
	Source   string     // the value of `source` in the default template
	Fuzz     *fuzz.Spec // makes payloads; nil: payloads are x, repeated to the flow's length
	Seed     uint64     // begins the random values of Fuzz
	Form     Form       // ids have it
	From     *From      // where an arriving message has its ids; nil: in its bytes, as they were sent
}

func (f Format) template() string {
	if f.Template != "" {
		return f.Template
	}
	payload := `"{{payload}}"`
	if f.Fuzz != nil {
		payload = "{{payload}}"
	}
	path, id := strings.Split(f.ID, "."), `"{{id}}"`
	if f.Form == Number {
		id = "{{id}}"
	}
	return `{"` + strings.Join(path, `":{"`) + `":` + id + strings.Repeat("}", len(path)-1) +
		`,"source":"` + f.Source + `","target":"{{target}}","payload":` + payload + `}`
}

// Check refuses an invalid template and names the place.
func (f Format) Check() error {
	_, err := f.parse("", "")
	return err
}

// randomly marks a payload that is generated for each message.
const randomly = "\x00"

// placeholders matches those of a template; the last one may lack its }}.
var placeholders = regexp.MustCompile(`(?s)\{\{(.*?)(\}\}|$)`)

// parse splits the template. prefix is the part of an id before the number.
func (f Format) parse(prefix, payload string) (pieces []piece, err error) {
	template := f.template()
	text, at, found := "", 0, false
	for _, m := range placeholders.FindAllStringSubmatchIndex(template, -1) {
		text += template[at:m[0]]
		if at = m[1]; m[4] == m[5] {
			return nil, fmt.Errorf("body, character %d: {{ without }}", m[0]+1)
		}
		holds, name := nothing, template[m[2]:m[3]]
		switch strings.TrimSpace(name) {
		case "id":
			text, holds, found = text+prefix, number, true
		case "target":
			holds = target
		case "payload":
			if payload == randomly {
				holds = random
			} else {
				text += payload
			}
		case "webhook":
			if f.Webhook == "" {
				return nil, fmt.Errorf("body, character %d: {{webhook}} is the URL of the run's webhook, "+
					"and none is known: set webhook (ARRIVE=webhook) with its port, "+
					"or webhook.url (WEBHOOK_URL)", m[0]+1)
			}
			text += f.Webhook
		default:
			return nil, fmt.Errorf("body, character %d: {{%s}} is not known; allowed: {{id}}, {{target}}, "+
				"{{payload}}, {{webhook}}", m[0]+1, name)
		}
		if holds != nothing {
			pieces, text = append(pieces, piece{text, holds}), ""
		}
	}
	if !found {
		return nil, errors.New("body has no {{id}}: without an id a message cannot be followed")
	}
	return append(pieces, piece{text + template[at:], nothing}), nil
}

// Targeted reports whether a message names its target.
func (f Format) Targeted() bool {
	return slices.ContainsFunc(placeholders.FindAllStringSubmatch(f.template(), -1),
		func(m []string) bool { return strings.TrimSpace(m[1]) == "target" })
}

// keyBefore matches the JSON key whose value begins at the end of a text.
var keyBefore = regexp.MustCompile(`("[^"]+")\s*:\s*"?$`)

// key is the JSON key of the id, with its quotes; empty: ids have none.
func (f Format) key() string {
	template := f.template()
	at := placeholders.FindAllStringSubmatchIndex(template, -1)
	for _, m := range at {
		if strings.TrimSpace(template[m[2]:m[3]]) != "id" {
			continue
		}
		if found := keyBefore.FindStringSubmatch(template[:m[0]]); found != nil {
			return found[1]
		}
		return ""
	}
	return ""
}

// Single makes the messages of one name to one target, and finds them: those of a canary.
type Single struct {
	finder
	format Format
	pieces []piece
	target string
}

// NewSingle makes the messages to a target whose ids begin with the prefix of a name. All have one payload.
func NewSingle(f Format, name, target string) *Single {
	s := &Single{finder: f.finder(name), format: f, target: target}
	payload := ""
	if f.Fuzz != nil { // a pipeline may refuse what its messages can't be
		payload = string(f.Fuzz.Append(nil, f.Seed, 0))
	}
	s.pieces, _ = f.parse(s.prefix, payload)
	return s
}

// Message is the message with a number.
func (s *Single) Message(n int) (message []byte) {
	for _, p := range s.pieces {
		message = append(message, p.text...)
		switch p.holds {
		case number:
			message = s.format.Form.Append(message, n)
		case target:
			message = append(message, s.target...)
		}
	}
	return message
}

// Numbers returns the numbers of the messages that a payload holds, found as Seqs finds those of the load. Of ids in a
// header field it gets the text that was found there, and not the payload.
func (s *Single) Numbers(payload []byte) []int {
	if from := s.format.From; from != nil && from.Header == "" {
		payload = from.In(payload, nil)
	}
	return s.numbers(payload, nil)
}

// Mentions reports whether a text has an id of this name, in whatever form.
func (s *Single) Mentions(text []byte) bool { return bytes.Contains(text, []byte(s.prefix)) }

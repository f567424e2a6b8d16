package body

import (
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
	ID       string     // in the template, the field of the id, with dots between nested ones
	Source   string     // in the template, the source
	Fuzz     *fuzz.Spec // of payloads; nil: payloads are x, repeated to the flow's length
	Seed     uint64     // of Fuzz
	Form     Form       // of ids
	From     *From      // where ids stand in what arrives; nil: in its bytes, as they were sent
}

// piece is a part of a message: constant text, followed by a placeholder.
type piece struct {
	text  string
	holds placeholder
}

// placeholder is a variable part of a message.
type placeholder uint8

const (
	nothing placeholder = iota
	number              // of the message: the id's last part
	target
	random // an object of random values
)

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

// Fixed returns the parts of a message before and after the number in its id, which begins with prefix. The
// message has its own target.
func (f Format) Fixed(prefix, to string) (before, after string) {
	payload := ""
	if f.Fuzz != nil { // a pipeline may refuse what its messages can't be
		payload = string(f.Fuzz.Append(nil, f.Seed, 0))
	}
	pieces, _ := f.parse(f.Form.Prefix(prefix), payload)
	into := &before
	for _, p := range pieces {
		*into += p.text
		switch {
		case p.holds == target:
			*into += to
		case into == &before && p.holds == number:
			into = &after
		case p.holds == number:
			*into += string(f.Form.Append(nil, 0)) // a second id: only the first one is read
		}
	}
	return before, after
}

package body

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fuzz"
)

// Format describes the messages.
type Format struct {
	// with the placeholders that index.d.ts lists; empty: the format of this repository's pipeline
	Template string
	// what {{row.<column>}} stands for, by column: a value for each target; JSON's escapes are added where it is JSON
	Rows    map[string][]string
	Webhook string     // what {{webhook}} stands for; empty: no URL is known
	ID      string     // the field of the default template that has the id; dots between nested fields
	Source  string     // the value of `source` in the default template
	Fuzz    *fuzz.Spec // makes payloads; nil: payloads are x, repeated to the flow's length
	Seed    uint64     // begins the random values of Fuzz
	Form    Form       // ids have it
	From    *From      // where an arriving message has its ids; nil: in its bytes, as they were sent
	// the run does not make the messages: an id may stand without quotes, too
	Anywhere bool
}

// clock is a form of the current time. All times of one form have one length.
type clock struct {
	length int
	append func(buf []byte, at time.Time) []byte
}

// clocks are the forms of {{now}}: ms and µs since 1970, and ISO 8601.
var clocks = map[string]clock{
	"now":    {13, func(buf []byte, at time.Time) []byte { return strconv.AppendInt(buf, at.UnixMilli(), 10) }},
	"now.us": {16, func(buf []byte, at time.Time) []byte { return strconv.AppendInt(buf, at.UnixMicro(), 10) }},
	"now.iso": {24, func(buf []byte, at time.Time) []byte {
		return at.UTC().AppendFormat(buf, "2006-01-02T15:04:05.000Z")
	}},
}

// wholeMost is above the random whole numbers.
const wholeMost = 1_000_000_000

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
		var more piece
		holds, name := nothing, template[m[2]:m[3]]
		switch strings.TrimSpace(name) {
		case "now", "now.us", "now.iso":
			holds, more.clock = now, clocks[strings.TrimSpace(name)]
		case "n":
			holds = count
		case "random":
			holds = chance
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
			if holds, more, err = f.member(strings.TrimSpace(name)); err != nil {
				return nil, fmt.Errorf("body, character %d: %w", m[0]+1, err)
			}
		}
		if holds != nothing {
			more.text, more.holds = text, holds
			pieces, text = append(pieces, more), ""
		}
	}
	if !found {
		return nil, errors.New("body has no {{id}}: without an id a message cannot be followed")
	}
	return append(pieces, piece{text: text + template[at:]}), nil
}

// member is the piece of a placeholder of two names: {{random.<field>}} or {{row.<column>}}.
func (f Format) member(name string) (placeholder, piece, error) {
	head, tail, _ := strings.Cut(name, ".")
	switch {
	case head == "random" && tail != "" && f.Fuzz == nil:
		return nothing, piece{}, fmt.Errorf("{{%s}} is a field of fuzz.spec (SPEC), which is not set", name)
	case head == "random" && tail != "":
		if place := f.Fuzz.Field(tail); place >= 0 {
			return value, piece{field: place}, nil
		}
		return nothing, piece{}, fmt.Errorf("{{%s}} is not a field of fuzz.spec (SPEC)", name)
	case head == "row" && tail != "":
		column, ok := f.Rows[tail]
		if !ok {
			return nothing, piece{}, fmt.Errorf("{{%s}} is not a column of rows (TARGETS_FILE, as CSV); allowed: %s", name,
				cmp.Or(strings.Join(slices.Sorted(maps.Keys(f.Rows)), ", "), "none, as there are no rows"))
		}
		return row, piece{column: f.escaped(column)}, nil
	}
	return nothing, piece{}, fmt.Errorf("{{%s}} is not known; allowed: {{id}}, {{target}}, {{payload}}, {{webhook}}, "+
		"{{now}}, {{now.us}}, {{now.iso}}, {{n}}, {{random}}, {{random.<field>}}, {{row.<column>}}", name)
}

// jsonLike matches the beginning of a template of JSON: not that of a placeholder.
var jsonLike = regexp.MustCompile(`^\s*(\[|\{[^{])`)

// escaped are values as they stand in the template: between the quotes of a text, where it is JSON.
func (f Format) escaped(values []string) []string {
	if !jsonLike.MatchString(f.template()) {
		return values
	}
	all := make([]string, len(values))
	for i, text := range values {
		quoted, _ := json.Marshal(text)
		all[i] = string(quoted[1 : len(quoted)-1])
	}
	return all
}

// fill adds what a piece holds that is not the target's: the message has the number n. A time is that of like, a
// message that may be this one.
func (f Format) fill(buf []byte, p piece, n int, like []byte) []byte {
	switch p.holds {
	case now:
		if end := len(buf) + p.clock.length; end <= len(like) && timely(like[len(buf):end]) {
			return append(buf, like[len(buf):end]...)
		}
		return p.clock.append(buf, time.Now())
	case count:
		return strconv.AppendInt(buf, int64(n), 10)
	case chance:
		var source rand.PCG
		source.Seed(f.Seed, uint64(n))
		return strconv.AppendUint(buf, rand.New(&source).Uint64N(wholeMost), 10)
	case value:
		return f.Fuzz.AppendField(buf, p.field, f.Seed, n)
	case random:
		return f.Fuzz.Append(buf, f.Seed, n)
	}
	return buf
}

// timely reports whether a text has the bytes of a time only.
func timely(text []byte) bool { return len(bytes.Trim(text, "0123456789-:.TZ")) == 0 }

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
func (s *Single) Message(n int) []byte { return s.MessageLike(n, nil) }

// MessageLike is the message with a number, with the times of one that may be the same.
func (s *Single) MessageLike(n int, like []byte) (message []byte) {
	for _, p := range s.pieces {
		message = append(message, p.text...)
		switch p.holds {
		case number:
			message = s.format.Form.Append(message, n)
		case target:
			message = append(message, s.target...)
		case row:
			message = append(message, p.column[0]...)
		default:
			message = s.format.fill(message, p, n, like)
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

// Package body makes the messages of a run from a template, and finds their numbers in what arrives.
package body

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fuzz"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

// Format describes the messages.
type Format struct {
	Template string     // with {{id}}, {{target}} and {{payload}}; empty: the format of this repository's pipeline
	ID       string     // in the template, the field of the id, with dots between nested ones
	Source   string     // in the template, the source
	Fuzz     *fuzz.Spec // of payloads; nil: payloads are x, repeated to the flow's length
	Seed     uint64     // of Fuzz
}

// Bodies makes the messages of one generator. JSON.stringify of five fields would cost 3 µs a message.
type Bodies struct {
	format   Format
	schedule *pacer.Pacer
	prefix   string // of ids: <run>.<generator>.
	mark     []byte // the prefix as it appears in a message
	family   []byte // the part of mark that all generators of the run share; empty: a single generator
	quoted   bool   // ids have quotes
	flows    []flow
}

type flow struct {
	profile.Flow
	pieces []piece
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

// New makes the messages of flows. Their ids begin with prefix, "<run>.<generator>.". The template must have passed
// Check. schedule has this generator's messages. siblings is true if the run has other generators.
func New(f Format, flows []profile.Flow, schedule *pacer.Pacer, prefix string, siblings bool) *Bodies {
	b := &Bodies{format: f, schedule: schedule, prefix: prefix, mark: []byte(prefix), quoted: f.Template == ""}
	if b.quoted {
		b.mark = []byte(`"` + prefix)
	}
	if siblings {
		b.family = b.mark[:bytes.IndexByte(b.mark, '.')+1]
	}
	for _, one := range flows {
		payload := strings.Repeat("x", one.PayloadBytes)
		if f.Fuzz != nil {
			payload = randomly
		}
		pieces, _ := f.parse(prefix, payload)
		b.flows = append(b.flows, flow{one, pieces})
	}
	return b
}

func (f Format) template() string {
	if f.Template != "" {
		return f.Template
	}
	payload := `"{{payload}}"`
	if f.Fuzz != nil {
		payload = "{{payload}}"
	}
	path := strings.Split(f.ID, ".")
	return `{"` + strings.Join(path, `":{"`) + `":"{{id}}"` + strings.Repeat("}", len(path)-1) +
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
		default:
			return nil, fmt.Errorf("body, character %d: {{%s}} is not known; allowed: {{id}}, {{target}}, {{payload}}", m[0]+1, name)
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

// Append adds the body of a request to buf: one message, or an array of them.
func (b *Bodies) Append(buf []byte, s pacer.Slot) []byte {
	if s.Messages == 1 {
		return b.message(buf, s, 0)
	}
	buf = append(buf, '[')
	for i := range s.Messages {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = b.message(buf, s, i)
	}
	return append(buf, ']')
}

func (b *Bodies) message(buf []byte, s pacer.Slot, i int) []byte {
	for _, p := range b.flows[s.Flow].pieces {
		buf = append(buf, p.text...)
		switch p.holds {
		case number:
			buf = strconv.AppendInt(buf, int64(s.FirstID+i), 10)
		case target:
			buf = b.AppendTarget(buf, s, i)
		case random:
			buf = b.format.Fuzz.Append(buf, b.format.Seed, s.FirstID+i)
		}
	}
	return buf
}

// AppendTarget adds the target of the i-th message of a request: <target>/<number>.
func (b *Bodies) AppendTarget(buf []byte, s pacer.Slot, i int) []byte {
	f := &b.flows[s.Flow]
	buf = append(buf, f.Target...)
	buf = append(buf, '/')
	return strconv.AppendInt(buf, int64((s.OfFlow+i)%f.Targets), 10)
}

// ID is the id of the message with a number.
func (b *Bodies) ID(number int) string { return b.prefix + strconv.Itoa(number) }

// NumberOf is the number in an id; own is false if the id is another generator's.
func (b *Bodies) NumberOf(id string) (number int, own bool) {
	text, own := strings.CutPrefix(id, b.prefix)
	number, err := strconv.Atoi(text)
	return number, own && err == nil
}

// Fixed returns the parts of a message before and after the number in its id, which begins with prefix. The
// message has its own target.
func (f Format) Fixed(prefix, to string) (before, after string) {
	payload := ""
	if f.Fuzz != nil {
		payload = "{}"
	}
	pieces, _ := f.parse(prefix, payload)
	into := &before
	for _, p := range pieces {
		*into += p.text
		switch {
		case p.holds == target:
			*into += to
		case into == &before && p.holds == number:
			into = &after
		case p.holds == number:
			*into += "0" // a second id: only the first one is read
		}
	}
	return before, after
}

// Seq finds a message's number in the ledger. The run's name is random, so <run>.<generator>. identifies the id without
// parsing the message.
func (b *Bodies) Seq(payload []byte) (seq int, ok bool) {
	number, ok := NumberAfter(payload, b.mark, b.quoted)
	if !ok {
		return 0, false
	}
	return b.schedule.SeqOf(number)
}

// Sibling reports whether a message is of another generator of this run.
func (b *Bodies) Sibling(payload []byte) bool {
	i := bytes.Index(payload, b.family)
	if i < 0 || len(b.family) == 0 {
		return false
	}
	generator, _, ok := bytes.Cut(payload[i+len(b.family):], []byte("."))
	return ok && len(generator) > 0 && len(bytes.Trim(generator, "0123456789")) == 0
}

// NumberAfter finds the number that follows a prefix, up to the closing quote where ids are quoted. Without
// quotes, the prefix may also be the end of a longer one, which belongs to others.
func NumberAfter(payload, prefix []byte, quoted bool) (int, bool) {
	rest := payload
	for begin := 0; ; {
		i := bytes.Index(rest, prefix)
		if i < 0 {
			return 0, false
		}
		begin += i
		rest = payload[begin+len(prefix):]
		if quoted || begin == 0 || !inName(payload[begin-1]) {
			break
		}
		begin += len(prefix)
	}
	n, digits := 0, 0
	for digits < len(rest) && digits < 12 && rest[digits] >= '0' && rest[digits] <= '9' {
		n = n*10 + int(rest[digits]-'0')
		digits++
	}
	if digits == 0 || quoted && (digits == len(rest) || rest[digits] != '"') {
		return 0, false
	}
	return n, true
}

func inName(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

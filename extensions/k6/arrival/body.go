package arrival

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

// bodies makes messages from a template. JSON.stringify of five fields would cost 3 µs a message.
type bodies struct {
	prefix string // <run>.<generator>.
	fuzz   *fuzzOptions
	mark   []byte // the prefix, as it stands in a message
	family []byte // as far as the run: other generators of the run have it too
	quoted bool   // an id stands in quotes
	flows  []bodyFlow
}

// bodyFlow is what the messages of a flow look like.
type bodyFlow struct {
	profile.Flow
	pieces []piece
}

// piece is a part of a message: a text that is the same in all, and then what is not.
type piece struct {
	text  string
	holds placeholder
}

// placeholder is what stands in a message of a template.
type placeholder uint8

const (
	nothing placeholder = iota
	number              // of the message: the id's last part
	target
	random // an object of random values
)

// newBodies makes the templates. level stands between a target and its number.
func newBodies(o *options, prefix, level string) *bodies {
	b := &bodies{prefix: prefix, fuzz: o.Fuzz, mark: []byte(prefix), quoted: o.Body == ""}
	if b.quoted {
		b.mark = []byte(`"` + prefix)
	}
	b.family = b.mark[:bytes.IndexByte(b.mark, '.')+1]
	for _, f := range o.profile.Flows {
		payload := strings.Repeat("x", f.PayloadBytes)
		if o.Fuzz != nil {
			payload = randomly
		}
		pieces, _ := parseBody(o.bodyTemplate(), prefix, payload) // checked with the options
		f.Target += level
		b.flows = append(b.flows, bodyFlow{f, pieces})
	}
	return b
}

// bodyTemplate is the script's own template of a message, or that of the pipeline in this repository.
func (o *options) bodyTemplate() string {
	if o.Body != "" {
		return o.Body
	}
	payload := `"{{payload}}"`
	if o.Fuzz != nil {
		payload = "{{payload}}"
	}
	path := strings.Split(o.ID, ".")
	return `{"` + strings.Join(path, `":{"`) + `":"{{id}}"` + strings.Repeat("}", len(path)-1) +
		`,"source":"` + o.tool.Name + `","target":"{{target}}","payload":` + payload + `}`
}

// randomly stands for a payload that is made anew for each message.
const randomly = "\x00"

// parseBody splits a template. prefix is what stands before the number in an id.
func parseBody(template, prefix, payload string) ([]piece, error) {
	var pieces []piece
	text, found := "", false
	for at := 0; ; {
		open := strings.Index(template[at:], "{{")
		if open < 0 {
			pieces = append(pieces, piece{text + template[at:], nothing})
			break
		}
		text += template[at : at+open]
		at += open
		length := strings.Index(template[at:], "}}")
		if length < 0 {
			return nil, fmt.Errorf("body, character %d: {{ without }}", at+1)
		}
		switch name := template[at+2 : at+length]; strings.TrimSpace(name) {
		case "id":
			pieces = append(pieces, piece{text + prefix, number})
			text, found = "", true
		case "target":
			pieces = append(pieces, piece{text, target})
			text = ""
		case "payload":
			if payload == randomly {
				pieces = append(pieces, piece{text, random})
				text = ""
			} else {
				text += payload
			}
		default:
			return nil, fmt.Errorf("body, character %d: {{%s}} is not known; allowed: {{id}}, {{target}}, {{payload}}", at+1, name)
		}
		at += length + 2
	}
	if !found {
		return nil, errors.New("body has no {{id}}: a message that cannot be told from others cannot be followed")
	}
	return pieces, nil
}

// append adds the body of a request to buf: one message, or an array of them.
func (b *bodies) append(buf []byte, s pacer.Slot) []byte {
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

func (b *bodies) message(buf []byte, s pacer.Slot, i int) []byte {
	f := &b.flows[s.Flow]
	for _, p := range f.pieces {
		buf = append(buf, p.text...)
		switch p.holds {
		case number:
			buf = strconv.AppendInt(buf, int64(s.FirstID+i), 10)
		case target:
			buf = f.target(buf, s, i)
		case random:
			buf = b.fuzz.spec.Append(buf, b.fuzz.Seed, s.FirstID+i)
		}
	}
	return buf
}

// target adds the target of a message: <target>/<number>.
func (f *bodyFlow) target(buf []byte, s pacer.Slot, i int) []byte {
	buf = append(buf, f.Target...)
	buf = append(buf, '/')
	return strconv.AppendInt(buf, int64((s.OfFlow+i)%f.Targets), 10)
}

// fixed is a message with an id and a target of its own, as far as the number in the id, and after it.
func (o *options) fixed(prefix, to string) (before, after string) {
	payload := ""
	if o.Fuzz != nil {
		payload = "{}"
	}
	pieces, _ := parseBody(o.bodyTemplate(), prefix, payload)
	into := &before
	for _, p := range pieces {
		*into += p.text
		switch {
		case p.holds == target:
			*into += to
		case into == &before && p.holds == number:
			into = &after
		case p.holds == number:
			*into += "0" // a second id: the first is the one that is read
		}
	}
	return before, after
}

// seq finds the number of a message of this run in it. The run's name is random, so where <run>.<generator>. stands, the id
// stands: whatever its key is, nothing needs to be parsed.
func (b *bodies) seq(payload []byte) (int, bool) {
	return numberAfter(payload, b.mark, b.quoted)
}

// sibling reports whether a message is of another generator of this run.
func (b *bodies) sibling(payload []byte) bool {
	i := bytes.Index(payload, b.family)
	if i < 0 {
		return false
	}
	generator, _, ok := bytes.Cut(payload[i+len(b.family):], []byte("."))
	return ok && len(generator) > 0 && len(bytes.Trim(generator, "0123456789")) == 0
}

// numberAfter finds the number that follows a prefix, up to the closing quote where there are quotes. Where there are none, the prefix may
// also be the end of a longer one, which is another's.
func numberAfter(payload, prefix []byte, quoted bool) (int, bool) {
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

// inName reports whether a run's name may have this character.
func inName(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

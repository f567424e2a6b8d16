package arrival

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

// bodies makes the JSON of messages from a template. JSON.stringify of five fields would cost 3 µs a message.
type bodies struct {
	prefix   string // <run>.<generator>.
	quoted   []byte // "<prefix>, as it stands in the JSON
	open     string // up to the id's number
	close    string // between the id and the target
	flows    []profile.Flow
	payloads []string
}

func newBodies(o *options, prefix string) *bodies {
	b := &bodies{prefix: prefix, quoted: []byte(`"` + prefix), flows: o.profile.Flows}
	b.open, b.close = idTemplate(o.ID, prefix)
	for _, f := range o.profile.Flows {
		b.payloads = append(b.payloads, `","payload":"`+strings.Repeat("x", f.PayloadBytes)+`"}`)
	}
	return b
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
	f := b.flows[s.Flow]
	buf = append(buf, b.open...)
	buf = strconv.AppendInt(buf, int64(s.FirstSeq+i), 10)
	buf = append(buf, b.close...)
	buf = append(buf, f.Target...)
	buf = append(buf, '/')
	buf = strconv.AppendInt(buf, int64((s.OfFlow+i)%f.Targets), 10)
	return append(buf, b.payloads[s.Flow]...)
}

// seq finds the number of a message of this run in its JSON. The run's name is random, so where "<run>.<generator>.
// stands in quotes, the id stands: whatever its key is, nothing needs to be parsed.
func (b *bodies) seq(payload []byte) (int, bool) {
	return numberAfter(payload, b.quoted)
}

// numberAfter finds the number that follows a prefix, up to the closing quote.
func numberAfter(payload, prefix []byte) (int, bool) {
	i := bytes.Index(payload, prefix)
	if i < 0 {
		return 0, false
	}
	rest := payload[i+len(prefix):]
	n, digits := 0, 0
	for digits < len(rest) && digits < 12 && rest[digits] >= '0' && rest[digits] <= '9' {
		n = n*10 + int(rest[digits]-'0')
		digits++
	}
	if digits == 0 || digits == len(rest) || rest[digits] != '"' {
		return 0, false
	}
	return n, true
}

// idTemplate is the JSON of a message up to the number in its id, and from there to the target.
func idTemplate(key, prefix string) (open, closing string) {
	path := strings.Split(key, ".")
	open = `{"` + strings.Join(path, `":{"`) + `":"` + prefix
	return open, `"` + strings.Repeat("}", len(path)-1) + `,"source":"k6","target":"`
}

// Package body makes the messages of a run from a template, and finds their numbers in what arrives.
package body

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

// Bodies makes the messages of one generator. JSON.stringify of five fields would cost 3 µs a message.
type Bodies struct {
	finder
	format   Format
	schedule *pacer.Pacer
	family   []byte // the part of mark that all generators of the run share; empty: a single generator
	flows    []flow
}

type flow struct {
	profile.Flow
	pieces []piece
}

// piece is a part of a message: constant text, followed by a placeholder.
type piece struct {
	text   string
	holds  placeholder
	clock  clock    // of now
	field  int      // of value: its place in the specification
	column []string // of row: a value for each target
}

// placeholder is a variable part of a message.
type placeholder uint8

const (
	nothing placeholder = iota
	number              // the message's: the last part of its id
	target
	random // an object of random values
	now    // the time at which the message is made
	count  // the message's number by itself
	chance // a random whole number
	value  // a random value of the specification
	row    // a field of the target's row
)

// New makes the messages of flows. Their ids begin with prefix, "<run>.<generator>.". The template must have passed
// Check. schedule has this generator's messages. siblings is true if the run has other generators.
func New(f Format, flows []profile.Flow, schedule *pacer.Pacer, prefix string, siblings bool) *Bodies {
	b := &Bodies{finder: f.finder(prefix), format: f, schedule: schedule}
	if siblings {
		b.family = b.mark[:bytes.IndexByte(b.mark, '.')+1]
	}
	for _, one := range flows {
		payload := strings.Repeat("x", one.PayloadBytes)
		if f.Fuzz != nil {
			payload = randomly
		}
		pieces, _ := f.parse(b.prefix, payload)
		b.flows = append(b.flows, flow{one, pieces})
	}
	return b
}

// Append adds the body of a request to buf: one message, or an array of them.
func (b *Bodies) Append(buf []byte, s pacer.Slot) []byte {
	if s.Messages == 1 {
		return b.message(buf, s, 0, nil)
	}
	buf = append(buf, '[')
	for i := range s.Messages {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = b.message(buf, s, i, nil)
	}
	return append(buf, ']')
}

// message adds the i-th message of a request to buf. like is a message that may be this one, made before: times are
// taken from it, when buf is empty. nil: there is none.
func (b *Bodies) message(buf []byte, s pacer.Slot, i int, like []byte) []byte {
	f := &b.flows[s.Flow]
	for _, p := range f.pieces {
		buf = append(buf, p.text...)
		switch p.holds {
		case number:
			buf = b.format.Form.Append(buf, s.FirstID+i)
		case target:
			buf = b.AppendTarget(buf, s, i)
		case row:
			buf = append(buf, p.column[(s.OfFlow+i)%f.Targets]...)
		default:
			buf = b.format.fill(buf, p, s.FirstID+i, like)
		}
	}
	return buf
}

// Whole reports whether a payload is the i-th message of a request as it was sent. It compares the length, where that
// does not depend on random values, and the bytes of one message in every. buf is scratch space, which it returns.
func (b *Bodies) Whole(payload []byte, slot pacer.Slot, i, every int, buf []byte) (whole bool, scratch []byte) {
	if length, fixed := b.length(slot, i); fixed && length != len(payload) {
		return false, buf
	}
	if !Picked(slot.FirstID+i, every) {
		return true, buf
	}
	buf = b.message(buf[:0], slot, i, payload)
	return bytes.Equal(buf, payload), buf
}

// SameLines reports whether a payload has the lines of the i-th message of a request, however each of them ends.
func (b *Bodies) SameLines(payload []byte, slot pacer.Slot, i int, buf []byte) (same bool, scratch []byte) {
	buf = b.message(buf[:0], slot, i, payload)
	return SameLines(payload, buf), buf
}

// SameLines reports whether two texts have the same lines, however each of them ends.
func SameLines(a, b []byte) bool { return bytes.Equal(WithLF(a), WithLF(b)) }

// WithLF ends each line with LF in place of CR LF or CR.
func WithLF(text []byte) []byte {
	if bytes.IndexByte(text, '\r') < 0 {
		return text
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
}

// Picked picks one message in every, the first one among them: one of each so many, at a place that has no period.
// Flows and targets take turns, and a fixed place would always have the same ones.
func Picked(number, every int) bool {
	turn, place := number/every, number%every
	if turn == 0 {
		return place == 0
	}
	return place == int(rand.NewPCG(uint64(turn), 0).Uint64()%uint64(every))
}

// length is the length of the i-th message of a request; fixed is false if random values decide it.
func (b *Bodies) length(s pacer.Slot, i int) (length int, fixed bool) {
	f := &b.flows[s.Flow]
	for _, p := range f.pieces {
		length += len(p.text)
		switch p.holds {
		case number:
			length += cmp.Or(b.format.Form.digits(), digits(s.FirstID+i))
		case target:
			if n := (s.OfFlow + i) % f.Targets; f.Names != nil {
				length += len(f.Names[n])
			} else {
				length += len(f.Target) + 1 + digits(n)
			}
		case now:
			length += p.clock.length
		case count:
			length += digits(s.FirstID + i)
		case row:
			length += len(p.column[(s.OfFlow+i)%f.Targets])
		case random, chance, value:
			return 0, false
		}
	}
	return length, true
}

func digits(n int) (count int) {
	for count = 1; n > 9; n /= 10 {
		count++
	}
	return count
}

// AppendTarget adds the target of the i-th message of a request.
func (b *Bodies) AppendTarget(buf []byte, s pacer.Slot, i int) []byte {
	f := &b.flows[s.Flow]
	return f.AppendTarget(buf, (s.OfFlow+i)%f.Targets)
}

// ID is the id of the message with a number.
func (b *Bodies) ID(number int) string { return string(b.format.Form.Append([]byte(b.prefix), number)) }

// Digits is how many digits the number in an id has, with zeros before it; 0: as many as it needs.
func (b *Bodies) Digits() int { return b.format.Form.digits() }

// Begin is the text before the number in ids.
func (b *Bodies) Begin() string { return b.prefix }

// NumberOf is the number in an id; own is false if the id is another generator's.
func (b *Bodies) NumberOf(id string) (number int, own bool) { return b.alone([]byte(id)) }

// Within returns the text of a message in which its ids are. header may be nil.
func (b *Bodies) Within(payload []byte, header Header) []byte {
	if b.format.From == nil {
		return payload
	}
	return b.format.From.In(payload, header)
}

// Located reports whether the run says where ids stand.
func (b *Bodies) Located() bool { return b.format.From != nil }

// InHeader reports whether a header field has the ids.
func (b *Bodies) InHeader() bool { return b.format.From != nil && b.format.From.Header != "" }

// Prefix begins the ids of a name other than the generator's, like that of its canary.
func (b *Bodies) Prefix(name string) string { return b.format.Form.Prefix(name) }

// LooksFor says what ids are searched for, and where.
func (b *Bodies) LooksFor() string {
	what := fmt.Sprintf("ids that begin with %q (ID_FORMAT, ID_KEY, BODY)", b.prefix)
	if from := b.format.From; from != nil {
		return what + fmt.Sprintf(" at %s (ID_FROM)", from)
	}
	return what + " in the bytes of the message"
}

// Form is how ids are written.
type Form string

const (
	Text Form = "" // <run>.<generator>.<number>
	// a whole number of 16 digits, which JavaScript and JSON keep: 7 of the run, 9 of the message
	Number Form = "number"
	UUID   Form = "uuid" // version 4 by its digits; the last 12 are the message's number
)

// CheckForm refuses a name that no form has.
func CheckForm(name string) (Form, error) {
	switch f := Form(name); f {
	case "text":
		return Text, nil
	case Text, Number, UUID:
		return f, nil
	}
	return Text, fmt.Errorf(`idFormat (ID_FORMAT) %q; allowed: "text", "number", "uuid"`, name)
}

const (
	numberLeast = 1_000_000 // 7 digits
	numberKinds = 8_000_000 // 8_999_999 and 9 digits are below 2^53
)

// Prefix begins the ids of a name, which is <run>.<generator>. or that of a canary.
func (f Form) Prefix(name string) string {
	sum := sha256.Sum256([]byte(name))
	switch f {
	case Number:
		return strconv.FormatUint(numberLeast+binary.BigEndian.Uint64(sum[:])%numberKinds, 10)
	case UUID:
		return fmt.Sprintf("%x-%x-4%03x-8%03x-", sum[:4], sum[4:6], binary.BigEndian.Uint16(sum[6:])>>4,
			binary.BigEndian.Uint16(sum[8:])>>4)
	}
	return name
}

// digits is how many digits the number of a message has; 0: as many as it needs.
func (f Form) digits() int {
	switch f {
	case Number:
		return 9
	case UUID:
		return 12
	}
	return 0
}

// Append adds the number of a message.
func (f Form) Append(buf []byte, n int) []byte {
	if width := f.digits(); width > 0 {
		return fmt.Appendf(buf, "%0*d", width, n)
	}
	return strconv.AppendInt(buf, int64(n), 10)
}

package body

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
)

// Form is how ids are written.
type Form string

const (
	Text Form = "" // <run>.<generator>.<number>
	// a whole number of 16 digits, which JavaScript and JSON keep: 7 of the run, 9 of the message
	Number Form = "number"
	UUID   Form = "uuid" // version 4 by its digits; the last 12 are the message's number
)

// CheckForm refuses a name that is none of a form.
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

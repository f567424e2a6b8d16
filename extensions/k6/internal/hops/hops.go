// Package hops reads the stamps that a message collects on its way, one at the end of each stage between sent and
// arrived. They travel in the MQTT 5 user property "hops", for the stages of this repository's pipeline:
//
//	<received>,<queued−received>,<claimed−queued>,<published−claimed>
//
// The first is microseconds since 1970 on the clock of Redis, the others are microseconds since the stamp before, and
// may be negative where two hosts' clocks disagree. Example: 1763700000123456,35,812,40. A publisher that does not know
// the later ones leaves them out.
package hops

import (
	"bytes"
	"errors"

	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

// Property is the name of the MQTT 5 user property.
const Property = "hops"

// Most is how many stamps a message has at most.
const Most = stages.Most - 2

// Stamps are microseconds since 1970 on the clock of Redis.
type Stamps struct {
	At [Most]int64
	N  int // how many there are
}

// Of makes stamps.
func Of(at ...int64) (s Stamps) {
	s.N = copy(s.At[:], at)
	return s
}

var errMalformed = errors.New("hops: not 1 to 10 comma-separated whole numbers")

// Lengths of a stamp and of a delta: 16 digits of microseconds reach the year 2286.
const (
	stampDigits = 16
	deltaDigits = 15
)

// Move converts the stamps to another clock. ahead is the offset of that clock at a moment.
func (s Stamps) Move(ahead func(at int64) int64) Stamps {
	for i, at := range s.At[:s.N] {
		s.At[i] = at + ahead(at)
	}
	return s
}

// Parse reads the value of the property. It keeps no reference to value.
func Parse(value []byte) (s Stamps, err error) {
	for more := true; more; s.N++ {
		if s.N == Most {
			return Stamps{}, errMalformed
		}
		field, rest, found := bytes.Cut(value, []byte{','})
		negative := s.N > 0 && len(field) > 0 && field[0] == '-'
		most := deltaDigits
		if negative {
			field = field[1:]
		}
		if s.N == 0 {
			most = stampDigits
		}
		x, ok := digits(field, most)
		if !ok {
			return Stamps{}, errMalformed
		}
		if negative {
			x = -x
		}
		if s.N > 0 {
			x += s.At[s.N-1]
		}
		s.At[s.N], value, more = x, rest, found
	}
	return s, nil
}

func digits(b []byte, most int) (n int64, ok bool) {
	if len(b) == 0 || len(b) > most {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

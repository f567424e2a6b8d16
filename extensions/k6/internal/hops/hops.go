// Package hops reads the stamps that a message collects on its way. They travel in the MQTT 5 user property "hops":
//
//	<received>,<queued−received>,<claimed−queued>,<published−claimed>
//
// The first is microseconds since 1970 on the clock of Redis, the others are microseconds since the stamp before, and
// may be negative where two hosts' clocks disagree. Example: 1763700000123456,35,812,40.
package hops

import (
	"bytes"
	"errors"
)

// Property is the name of the MQTT 5 user property.
const Property = "hops"

// Stamps are microseconds since 1970 on the clock of Redis.
type Stamps struct{ Received, Queued, Claimed, Published int64 }

var errMalformed = errors.New("hops: not four comma-separated whole numbers")

// Lengths of a stamp and of a delta: 16 digits of microseconds reach the year 2286.
const (
	stampDigits = 16
	deltaDigits = 15
)

// Move converts the stamps to another clock. ahead is the offset of that clock at a moment.
func (s Stamps) Move(ahead func(at int64) int64) Stamps {
	return Stamps{
		s.Received + ahead(s.Received), s.Queued + ahead(s.Queued), s.Claimed + ahead(s.Claimed), s.Published + ahead(s.Published),
	}
}

// Parse reads the value of the property. It keeps no reference to value.
func Parse(value []byte) (Stamps, error) {
	var n [4]int64
	for i := range n {
		field, rest, found := bytes.Cut(value, []byte{','})
		negative := i > 0 && len(field) > 0 && field[0] == '-'
		most := deltaDigits
		if negative {
			field = field[1:]
		}
		if i == 0 {
			most = stampDigits
		}
		x, ok := digits(field, most)
		if !ok || found != (i < len(n)-1) {
			return Stamps{}, errMalformed
		}
		if negative {
			x = -x
		}
		n[i], value = x, rest
	}
	queued := n[0] + n[1]
	claimed := queued + n[2]
	return Stamps{n[0], queued, claimed, claimed + n[3]}, nil
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

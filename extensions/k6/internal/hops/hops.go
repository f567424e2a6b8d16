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
	"strconv"
	"unsafe"
)

// Property is the name of the MQTT 5 user property.
const Property = "hops"

// Stamps are microseconds since 1970 on the clock of Redis.
type Stamps struct{ Received, Queued, Claimed, Published int64 }

// Shift moves all stamps by us.
func (s Stamps) Shift(us int64) Stamps {
	return Stamps{s.Received + us, s.Queued + us, s.Claimed + us, s.Published + us}
}

var errMalformed = errors.New("hops: not four comma-separated whole numbers")

// Parse reads the value of the property. It keeps no reference to value.
func Parse(value []byte) (Stamps, error) {
	var n [4]int64
	for i := range n {
		field := value
		if comma := bytes.IndexByte(value, ','); i < 3 {
			if comma < 0 {
				return Stamps{}, errMalformed
			}
			field, value = value[:comma], value[comma+1:]
		}
		x, err := strconv.ParseInt(unsafe.String(unsafe.SliceData(field), len(field)), 10, 64)
		if err != nil {
			return Stamps{}, errMalformed
		}
		n[i] = x
	}
	if n[0] <= 0 {
		return Stamps{}, errMalformed
	}
	queued := n[0] + n[1]
	claimed := queued + n[2]
	return Stamps{n[0], queued, claimed, claimed + n[3]}, nil
}

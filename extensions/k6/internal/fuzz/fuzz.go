package fuzz

import (
	"math"
	"math/rand/v2"
	"strconv"
)

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// Append adds the n-th object of a seed to buf.
func (s *Spec) Append(buf []byte, seed uint64, n int) []byte {
	var source rand.PCG
	source.Seed(seed, uint64(n))
	return appendObject(buf, s.fields, rand.New(&source))
}

func appendObject(buf []byte, fields []field, r *rand.Rand) []byte {
	buf = append(buf, '{')
	for i := range fields {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = append(buf, fields[i].key...)
		buf = fields[i].append(buf, r)
	}
	return append(buf, '}')
}

func (f *field) append(buf []byte, r *rand.Rand) []byte {
	switch {
	case f.allowed != nil:
		return append(buf, f.allowed[r.IntN(len(f.allowed))]...)
	case f.kind == kindObject:
		return appendObject(buf, f.children, r)
	case f.kind == kindInt:
		return strconv.AppendInt(buf, f.whole(r), 10)
	case f.kind == kindFloat:
		return strconv.AppendFloat(buf, f.low+r.Float64()*(f.high-f.low), 'f', -1, 64)
	case f.kind == kindBoolean:
		return strconv.AppendBool(buf, r.Uint32()&1 == 1)
	}
	buf = append(buf, '"')
	for range f.whole(r) {
		buf = append(buf, letters[r.IntN(len(letters))])
	}
	return append(buf, '"')
}

// whole draws a whole number from the bounds, both of them included.
func (f *field) whole(r *rand.Rand) int64 {
	low, high := int64(math.Ceil(f.low)), int64(math.Floor(f.high))
	return low + r.Int64N(high-low+1)
}

// Package fuzz makes JSON objects of random values from a specification. The same seed gives the same objects.
//
// A specification is a list of keys and types,
//
//	[userId,string,userAge,int,score,float,ok,boolean]
//
// or a JSON object whose values are a type, a list of allowed values, or a description:
//
//	{
//	  "userId": { "type": "string", "length": [8, 12] },
//	  "userAge": { "type": "int", "range": [18, 99] },
//	  "plan": ["free", "paid"],
//	  "address": { "type": "object", "fields": { "city": "string", "zip": { "type": "int", "range": [1000, 9999] } } }
//	}
package fuzz

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// Append adds the n-th object of a seed to buf.
func (s *Spec) Append(buf []byte, seed uint64, n int) []byte {
	var source rand.PCG
	source.Seed(seed, uint64(n))
	return appendObject(buf, s.fields, rand.New(&source))
}

// Field is the place of a key; -1: the specification does not have it.
func (s *Spec) Field(key string) int {
	quoted, _ := json.Marshal(key)
	return slices.IndexFunc(s.fields, func(f field) bool { return string(f.key) == string(quoted)+":" })
}

// AppendField adds the value that a field has in the n-th object of a seed. It is not that of Append.
func (s *Spec) AppendField(buf []byte, place int, seed uint64, n int) []byte {
	var source rand.PCG
	source.Seed(seed+uint64(place), uint64(n))
	return s.fields[place].append(buf, rand.New(&source))
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

const (
	kindString  = "string"
	kindInt     = "int"
	kindFloat   = "float"
	kindBoolean = "boolean"
	kindObject  = "object"
)

const kinds = "string, int, float, boolean"

// Bounds of a specification, against typing errors.
const (
	mostFields = 1000
	mostLength = 1 << 20
	mostDepth  = 16
)

const (
	lengthFrom, lengthTo = 8, 16
	rangeFrom, rangeTo   = 0, 1000
)

type Spec struct{ fields []field }

// field is a key and the description of its values.
type field struct {
	key       []byte // in quotes, with its colon
	kind      string
	low, high float64  // bounds of the value, or of a string's length
	allowed   [][]byte // JSON; nil: any
	children  []field  // the members of an object
}

// Parse reads a specification. Errors give the position and what is allowed.
func Parse(text string) (*Spec, error) {
	trimmed := strings.TrimSpace(text)
	var fields []field
	var err error
	switch {
	case strings.HasPrefix(trimmed, "{"):
		fields, err = parseJSON(text)
	case strings.HasPrefix(trimmed, "["):
		fields, err = parseList(text)
	default:
		err = at(0, "neither a list nor an object; allowed: [key,type,…] or {\"key\":\"type\",…}")
	}
	if err == nil && len(fields) == 0 {
		err = at(0, "it has no fields")
	}
	if wrong := (*mistake)(nil); errors.As(err, &wrong) {
		return nil, fmt.Errorf("spec, character %d: %w", utf8.RuneCountInString(text[:wrong.offset])+1, err)
	}
	if err != nil {
		return nil, err
	}
	return &Spec{fields}, nil
}

// mistake is an error at a byte of the text.
type mistake struct {
	offset int
	what   string
}

func (m *mistake) Error() string { return m.what }

func at(offset int, format string, args ...any) *mistake {
	return &mistake{offset, fmt.Sprintf(format, args...)}
}

// parseList reads [key,type,key,type].
func parseList(text string) ([]field, error) {
	start := strings.Index(text, "[") + 1
	end := strings.LastIndex(text, "]")
	if end < 0 || strings.TrimSpace(text[end+1:]) != "" {
		return nil, at(len(strings.TrimRightFunc(text, unicode.IsSpace)), "the list does not end with ]")
	}
	var fields []field
	var key string
	seen := map[string]bool{}
	words := strings.Split(text[start:end], ",")
	offset := start
	for i, word := range words {
		here := offset + len(word) - len(strings.TrimLeftFunc(word, unicode.IsSpace))
		offset += len(word) + 1
		word = strings.TrimSpace(word)
		if i%2 == 0 {
			if word == "" || strings.ContainsAny(word, "\"[]{}") {
				return nil, at(here, "%q is not a key; allowed: any text without , [ ] { } and quotes", word)
			}
			if seen[word] {
				return nil, at(here, "the key %q appears twice", word)
			}
			key, seen[word] = word, true
			continue
		}
		f, ok := newField(key, word)
		if !ok {
			return nil, at(here, "type %q is not known; allowed: %s", word, kinds)
		}
		if fields = append(fields, f); len(fields) > mostFields {
			return nil, at(here, "more than %d fields", mostFields)
		}
	}
	if len(words)%2 != 0 {
		return nil, at(end, "key %q has no type; allowed: %s", key, kinds)
	}
	return fields, nil
}

// newField makes a field of a type, with the default bounds.
func newField(key, kind string) (field, bool) {
	quoted, _ := json.Marshal(key)
	f := field{key: append(quoted, ':'), kind: kind, low: rangeFrom, high: rangeTo}
	switch kind {
	case "bool":
		f.kind = kindBoolean
	case kindString:
		f.low, f.high = lengthFrom, lengthTo
	case kindInt, kindFloat, kindBoolean:
	default:
		return f, false
	}
	return f, true
}

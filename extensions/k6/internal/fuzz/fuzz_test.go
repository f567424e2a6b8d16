package fuzz

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func made(t *testing.T, spec string, seed uint64, n int) map[string]any {
	t.Helper()
	s, err := Parse(spec)
	require.NoError(t, err)
	var object map[string]any
	require.NoError(t, json.Unmarshal(s.Append(nil, seed, n), &object))
	return object
}

func TestAListOfKeysAndTypes(t *testing.T) {
	t.Parallel()
	for n := range 100 {
		o := made(t, "[userId,string, userAge,int,score,float,ok,boolean]", 1, n)
		require.Len(t, o, 4)
		assert.GreaterOrEqual(t, len(o["userId"].(string)), lengthFrom)
		assert.LessOrEqual(t, len(o["userId"].(string)), lengthTo)
		age := o["userAge"].(float64)
		assert.InDelta(t, float64(int(age)), age, 0)
		assert.True(t, o["score"].(float64) >= rangeFrom && o["score"].(float64) < rangeTo)
		assert.IsType(t, true, o["ok"])
	}
}

func TestRangesLengthsEnumsAndNestedObjects(t *testing.T) {
	t.Parallel()
	const spec = `{"id": {"type": "string", "length": [3, 5]}, "age": {"type": "int", "range": [18, 19]},
		"t": {"type": "float", "range": [-2, -1]}, "plan": ["free", "paid", null], "level": {"type": "int", "enum": [1, 2]},
		"address": {"type": "object", "fields": {"zip": {"type": "int", "range": [1000, 9999]}, "home": "bool"}}}`
	seen := map[any]bool{}
	for n := range 200 {
		o := made(t, spec, 7, n)
		assert.True(t, len(o["id"].(string)) >= 3 && len(o["id"].(string)) <= 5)
		assert.Contains(t, []float64{18, 19}, o["age"])
		assert.True(t, o["t"].(float64) >= -2 && o["t"].(float64) < -1)
		assert.Contains(t, []float64{1, 2}, o["level"])
		zip := o["address"].(map[string]any)["zip"].(float64)
		assert.True(t, zip >= 1000 && zip <= 9999)
		seen[o["plan"]], seen[o["age"]] = true, true
	}
	assert.Len(t, seen, 5, "each allowed value occurs")
}

func TestTheSameSeedRepeatsTheObject(t *testing.T) {
	t.Parallel()
	s, err := Parse("[a,string,b,float]")
	require.NoError(t, err)
	assert.Equal(t, string(s.Append(nil, 3, 17)), string(s.Append(nil, 3, 17)))
	assert.NotEqual(t, string(s.Append(nil, 3, 17)), string(s.Append(nil, 3, 18)))
	assert.NotEqual(t, string(s.Append(nil, 3, 17)), string(s.Append(nil, 4, 17)))
}

func TestSpecErrorsNameThePositionAndWhatIsAllowed(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"":               `spec, character 1: neither a list nor an object; allowed: [key,type,…] or {"key":"type",…}`,
		"[a,strng]":      `spec, character 4: type "strng" is not known; allowed: string, int, float, boolean`,
		"[a,int, b]":     `spec, character 10: key "b" has no type; allowed: string, int, float, boolean`,
		"[a,int,a,int]":  `spec, character 8: the key "a" appears twice`,
		"[,int]":         `spec, character 2: "" is not a key; allowed: any text without , [ ] { } and quotes`,
		"[a,int":         `spec, character 7: the list does not end with ]`,
		"{}":             `spec, character 1: it has no fields`,
		`{"a": "strng"}`: `spec, character 7: type "strng" is not known; allowed: string, int, float, boolean, a list of values, or an object with "type"`,
		`{"a": 3}`:       `spec, character 7: 3 is not a type; allowed: string, int, float, boolean, a list of values, or an object with "type"`,
		`{"a": "int"`:    `spec, character 12: not JSON: it ends too early`,
		// Regression: a wrong last character was reported as an early end.
		`{"a":"int"]`: `spec, character 11: not JSON: invalid character ']' after object key:value pair`,
		// Regression: a separator inside a string moved the position; bytes counted as characters.
		`{"a": "st,rng"}`:        `spec, character 7: type "st,rng" is not known; allowed: string, int, float, boolean, a list of values, or an object with "type"`,
		`{"größe:1": "strng"}`:   `spec, character 13: type "strng" is not known; allowed: string, int, float, boolean, a list of values, or an object with "type"`,
		`{"größe": "int", x}`:    `spec, character 18: not JSON: invalid character 'x' looking for beginning of object key string`,
		"[größe,strng]":          `spec, character 8: type "strng" is not known; allowed: string, int, float, boolean`,
		`{"a,b": {"type": "x"}}`: `spec, character 10: type "x" of "a,b" is not known; allowed: string, int, float, boolean, object`,
		`{"a": 1e999}`:           `spec, character 7: 1e999 is not a type; allowed: string, int, float, boolean, a list of values, or an object with "type"`,
		// Regression: keys beside enum were not checked.
		`{"a":{"type":"strng","enum":[1]}}`:                           `spec, character 7: type "strng" of "a" is not known; allowed: string, int, float, boolean, object`,
		`{"a":{"enum":[1],"range":[0,1]}}`:                            `spec, character 18: range of "a" is not allowed with enum, which lists all values`,
		`{"a":{"type":"int","enum":[1,1.5]}}`:                         `spec, character 20: 1.5 in the enum of "a" must be int`,
		`{"a":{"type":"object","fields":{"b":"int"},"length":[1,2]}}`: `spec, character 44: length does not belong to the type object of "a"`,
		`{"a":{"type":"int","type":"float"}}`:                         `spec, character 20: type of "a" appears twice`,
		`{"a":{"type":"string","length":[0.2,0.8]}}`:                  `spec, character 23: length of "a" holds no whole number`,
		`{"a": int}`:                           `spec, character 7: not JSON: invalid character 'i' looking for beginning of value`,
		`{"a": {"type": "int", "max": 3}}`:     `spec, character 23: "max" is not known; allowed: type, range (int, float), length (string), enum, fields (object)`,
		`{"a": {"type": "int", "range": [3]}}`: `spec, character 23: range of "a" is not [lowest, highest]`,
		// regression: from 0
		`{"a":{"type":"int","range":[null,9]}}`: `spec, character 20: range of "a" is not [lowest, highest]`,
		`{"a": []}`:                             `spec, character 8: the list of values of "a" is empty`,
	} {
		_, err := Parse(spec)
		assert.EqualError(t, err, want, spec)
	}
	for _, spec := range []string{
		`{"a": {"type": "int", "range": [0.2, 0.8]}}`, `{"a": {"type": "boolean", "range": [0, 1]}}`,
		`{"a": {"type": "object"}}`,
		`{"a": {"type": "string", "length": [-1, 3]}}`, `{"a": "int"} x`, `{"a": "int", "a": "int"}`,
	} {
		_, err := Parse(spec)
		assert.ErrorContains(t, err, "spec, character ", spec)
	}
}

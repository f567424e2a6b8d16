package body_test

import (
	"encoding/base64"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
)

// made is the id of message 41 in a form, quoted where the default body quotes it.
func made(t *testing.T, f body.Format) (b *body.Bodies, id string, message []byte) {
	t.Helper()
	b = bodiesOf(t, f)
	return b, b.ID(41), b.Append(nil, pacer.Slot{FirstID: 41, OfFlow: 7, Messages: 1})
}

func TestFormsOfIDs(t *testing.T) {
	t.Parallel()
	for form, want := range map[body.Form]string{
		body.Text:   `^{"id":"run\.1\.41",`,
		body.Number: `^{"id":[1-8]\d{6}000000041,`,
		body.UUID:   `^{"id":"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-000000000041",`,
	} {
		f := body.Format{ID: "id", Source: "k6", Form: form}
		b, id, message := made(t, f)
		assert.Regexp(t, want, string(message))
		assert.Equal(t, []int{41}, b.Seqs(message, nil), form)
		assert.Equal(t, []int{41}, b.Seqs([]byte(id), nil), "the id alone, %s", form)
		number, own := b.NumberOf(id)
		assert.Equal(t, []any{41, true}, []any{number, own})
		whole, _ := b.Whole(message, pacer.Slot{FirstID: 41, OfFlow: 7, Messages: 1}, 0, 1, nil)
		assert.True(t, whole, form)
		canary := body.NewSingle(f, "run.canary.", "canary/run")
		assert.Equal(t, []int{3}, canary.Numbers(canary.Message(3)), form)
		assert.Empty(t, b.Seqs(canary.Message(3), nil), "the canary is not a message of the load")
	}
	_, err := body.CheckForm("int")
	assert.ErrorContains(t, err, `idFormat (ID_FORMAT) "int"; allowed: "text", "number", "uuid"`)
}

func TestNumbersWithinNumbersAreNoIDs(t *testing.T) {
	t.Parallel()
	b, id, _ := made(t, body.Format{ID: "id", Form: body.Number})
	for _, payload := range []string{`{"id":1` + id + `}`, `{"id":` + id + `0}`, `{"id":` + id[:15] + `}`} {
		assert.Empty(t, b.Seqs([]byte(payload), nil), payload)
	}
	assert.Equal(t, []int{41}, b.Seqs([]byte(`{"id": "`+id+`"}`), nil), "a pipeline may make a text of it")
}

func TestIDsStandWhereAPipelinePutsThem(t *testing.T) {
	t.Parallel()
	encoded := func(f func(any) ([]byte, error), v any) []byte {
		b, err := f(v)
		require.NoError(t, err)
		return b
	}
	base := base64.StdEncoding.EncodeToString
	text, number := body.Format{ID: "id"}, body.Format{ID: "id", Form: body.Number}
	_, id, message := made(t, text)
	b, _, _ := made(t, number)
	digits := int64(0)
	for _, c := range b.ID(41) {
		digits = digits*10 + int64(c-'0')
	}
	nested := map[string]any{"meta": map[string]any{"id": digits}, "n": []any{1, "x"}}
	for from, c := range map[string]struct {
		format  body.Format
		payload []byte
	}{
		"json:$.meta.id":              {text, []byte(`{"meta":{"id":"` + id + `"},"previous":"run.1.40"}`)},
		"json:$['a:b'].id":            {text, []byte(`{"a:b":{"id":"` + id + `"}}`)},
		"json:$.event":                {text, []byte(`{"event":"{\"id\":\"` + id + `\"}"}`)},
		"json:$.event:json:$.id":      {text, []byte(`{"event":"{\"id\":\"` + id + `\"}"}`)},
		"json:$.id":                   {number, []byte(`{"id":` + b.ID(41)[:1] + "." + b.ID(41)[1:] + `e+15}`)},
		"base64":                      {text, []byte(base(message))},
		"base64:json:$.id":            {text, []byte(base64.RawURLEncoding.EncodeToString(message))},
		"json:$.message.data:base64":  {text, []byte(`{"message":{"data":"` + base(message) + `"}}`)},
		"percent":                     {text, []byte("m=%7B%22id%22%3A%22" + id + "%22%7D")},
		"percent:base64":              {text, []byte("PHE" + "%2B")},
		"cbor:$.meta.id":              {number, encoded(cbor.Marshal, nested)},
		"msgpack:$.meta.id":           {number, encoded(msgpack.Marshal, nested)},
		"cbor:$.body:json:$.id":       {text, encoded(cbor.Marshal, map[string]any{"body": message})},
		"msgpack:$.body:json:$.id":    {text, encoded(msgpack.Marshal, map[string]any{"body": message})},
		"base64:msgpack:$.list[0].id": {text, []byte(base(encoded(msgpack.Marshal, map[string]any{"list": []any{map[string]any{"id": id}}})))},
	} {
		parsed, err := body.ParseFrom(from)
		require.NoError(t, err, from)
		c.format.From = parsed
		b := bodiesOf(t, c.format)
		want := []int{41}
		if from == "percent:base64" {
			want = nil
		}
		assert.Equal(t, want, b.Seqs(b.Within(c.payload, nil), nil), from)
		for _, hostile := range []string{"", "x", "[", `{"meta":5}`, "\xff\xff\xff\xff\xff", "%zz"} {
			assert.Empty(t, b.Seqs(b.Within([]byte(hostile), nil), nil), "%s of %q", from, hostile)
		}
	}
	all, err := body.ParseFrom("json:$.events[*].id")
	require.NoError(t, err)
	b = bodiesOf(t, body.Format{ID: "id", From: all})
	assert.Equal(t, []int{1, 2},
		b.Seqs(b.Within([]byte(`{"events":[{"id":"run.1.1","of":"run.1.9"},{"id":"run.1.2"}]}`), nil), nil))
	header, err := body.ParseFrom("header:x-id")
	require.NoError(t, err)
	b = bodiesOf(t, body.Format{ID: "id", From: header})
	of := func(name string) string { return map[string]string{"x-id": id}[name] }
	assert.Equal(t, []int{41}, b.Seqs(b.Within([]byte("whatever"), of), nil))
	assert.Empty(t, b.Seqs(b.Within(message, nil), nil), "a message without header fields")
}

func TestAWrongPlaceOfIDsIsRefused(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		"xml:$.id":          `"xml" is not a step`,
		"json:meta.id":      `"meta.id" is not a path`,
		"json":              "is not a path",
		"json:$.a:header:x": "header:x is not the first step",
		"header:a b":        "header:a b is not the first step",
		"header":            "header: is not the first step",
		"base64:":           "ends with a colon",
		"base64::json:$.id": `"" is not a step`,
	} {
		_, err := body.ParseFrom(from)
		assert.ErrorContains(t, err, want, from)
		assert.ErrorContains(t, err, "idFrom (ID_FROM)", from)
	}
}

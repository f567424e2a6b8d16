package body

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/fxamacker/cbor/v2"
	"github.com/theory/jsonpath"
	"github.com/vmihailenco/msgpack/v5"
)

// From says where a message has its ids, for pipelines that change its bytes: in a header field, in a field of an
// envelope, or within an encoding. It is a chain of steps. Each step reads the result of the one before.
type From struct {
	// Header is the field of the message that the first step reads; empty: its payload.
	Header string
	steps  []step
	text   string
}

// Header looks up a header field of a message; empty: it has none.
type Header func(name string) string

// step finds text in a text. An error means that it holds none.
type step func(text []byte) ([]byte, error)

const stepsAllowed = `allowed: header:x-id, json:$.meta.id, cbor:$.id, msgpack:$.id, base64, percent, ` +
	`or several with : between them, like json:$.message.data:base64:json:$.id`

// headerName matches the name of a header field (RFC 9110, 5.6.2), without what MQTT alone allows.
var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// ParseFrom reads the steps. An empty text has none, and returns nil.
func ParseFrom(text string) (*From, error) {
	if text == "" {
		return nil, nil
	}
	if strings.HasSuffix(text, ":") {
		return nil, fmt.Errorf("idFrom (ID_FROM) %q ends with a colon; %s", text, stepsAllowed)
	}
	f := &From{text: text}
	for rest, first := text, true; rest != ""; first = false {
		var name, argument string
		name, rest, _ = strings.Cut(rest, ":")
		if name == "json" || name == "cbor" || name == "msgpack" || name == "header" {
			argument, rest = cutPath(rest)
		}
		if err := f.add(name, argument, first); err != nil {
			return nil, fmt.Errorf("idFrom (ID_FROM) %q: %w; %s", text, err, stepsAllowed)
		}
	}
	return f, nil
}

// cutPath cuts a text after a path, in which a colon may stand within brackets.
func cutPath(text string) (path, rest string) {
	depth, quote := 0, rune(0)
	for i, c := range text {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case depth > 0 && (c == '\'' || c == '"'):
			quote = c
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == ':' && depth == 0:
			return text[:i], text[i+1:]
		}
	}
	return text, ""
}

func (f *From) add(name, argument string, first bool) error {
	var decode func([]byte) (any, error)
	switch name {
	case "header":
		if !first || !headerName.MatchString(argument) {
			return fmt.Errorf("header:%s is not the first step with the name of a field", argument)
		}
		f.Header = argument
		return nil
	case "base64":
		f.steps = append(f.steps, fromBase64)
		return nil
	case "percent":
		f.steps = append(f.steps, fromPercent)
		return nil
	case "json":
		decode = fromJSON
	case "cbor":
		decode = fromCBOR
	case "msgpack":
		decode = fromMsgpack
	default:
		return fmt.Errorf("%q is not a step", name)
	}
	path, err := jsonpath.Parse(argument)
	if err != nil {
		return fmt.Errorf("%q is not a path: %w", argument, err)
	}
	f.steps = append(f.steps, func(text []byte) ([]byte, error) {
		v, err := decode(text)
		if err != nil {
			return nil, err
		}
		return join(path.Select(v))
	})
	return nil
}

// String is the text of the steps.
func (f *From) String() string { return f.text }

// In returns the text that contains the ids of a message; nil: it has none.
func (f *From) In(payload []byte, header Header) []byte {
	text := payload
	if f.Header != "" {
		if text = nil; header != nil {
			text = []byte(header(f.Header))
		}
	}
	for _, one := range f.steps {
		var err error
		if text, err = one(text); err != nil {
			return nil
		}
	}
	return text
}

// join makes a text of what a path selected: a line for each.
func join(selected jsonpath.NodeList) ([]byte, error) {
	if len(selected) == 0 {
		return nil, errors.New("nothing is there")
	}
	var text []byte
	for i, v := range selected {
		if i > 0 {
			text = append(text, '\n')
		}
		switch v := v.(type) {
		case string:
			text = append(text, v...)
		case []byte:
			text = append(text, v...)
		case json.Number:
			text = append(text, whole(v.String())...)
		case float64, float32:
			text = append(text, whole(fmt.Sprint(v))...)
		case map[string]any, []any:
			nested, err := json.Marshal(v)
			if err != nil {
				return nil, err
			}
			text = append(text, nested...)
		default: // integers of any size
			text = fmt.Append(text, v)
		}
	}
	return text, nil
}

// whole writes a number without exponent and fraction, where it is a whole one.
func whole(number string) string {
	f, err := strconv.ParseFloat(number, 64)
	if err == nil && strings.ContainsAny(number, ".eE") && f == float64(int64(f)) {
		return strconv.FormatInt(int64(f), 10)
	}
	return number
}

func fromBase64(text []byte) ([]byte, error) {
	plain := strings.NewReplacer("-", "+", "_", "/", "=", "", "\n", "", "\r", "", " ", "").Replace(string(text))
	return base64.RawStdEncoding.DecodeString(plain)
}

func fromPercent(text []byte) ([]byte, error) {
	plain, err := url.QueryUnescape(string(text))
	return []byte(plain), err
}

func fromJSON(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // a float64 would round numbers above 2^53
	return v, d.Decode(&v)
}

// cborMode decodes maps as JSON's, as paths read them.
var cborMode, _ = cbor.DecOptions{DefaultMapType: reflect.TypeFor[map[string]any]()}.DecMode()

func fromCBOR(text []byte) (v any, err error) {
	_, err = cborMode.UnmarshalFirst(text, &v)
	return v, err
}

func fromMsgpack(text []byte) (v any, err error) {
	return v, msgpack.Unmarshal(text, &v)
}

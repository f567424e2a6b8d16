package engine

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	legacy "github.com/go-json-experiment/json/v1"

	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// strict takes one JSON value, whose keys are spelt as the struct's, each once. encoding/json ignores the case of a
// key, and the first of two equal ones.
var strict = json.JoinOptions(
	json.RejectUnknownMembers(true),
	legacy.MergeWithLegacySemantics(true), // null leaves a default as it is
	jsontext.AllowInvalidUTF8(true),       // excerpts of answers may be cut within a character
)

// Decode reads a JSON object into a struct. Errors name the option, its value and what is allowed.
func Decode(text []byte, into any) error {
	err := json.Unmarshal(text, into, strict)
	var syntax *jsontext.SyntacticError
	var wrong *json.SemanticError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it is not one JSON value: it ends too early")
	case errors.As(err, &wrong) && wrong.GoType != nil:
		return refused(wrong)
	case errors.As(err, &syntax) && errors.Is(syntax.Err, jsontext.ErrDuplicateName):
		return fmt.Errorf("option %q is set twice", named(syntax.JSONPointer))
	case errors.As(err, &syntax):
		return fmt.Errorf("it is not one JSON value: %w at byte %d", syntax.Err, syntax.ByteOffset+1)
	}
	return err
}

// named is the name of an option: mqtt.qos.
func named(at jsontext.Pointer) string {
	var names []string
	for name := range at.Tokens() {
		names = append(names, name)
	}
	return strings.Join(names, ".")
}

// valueError says what is wrong with the value of an option; Decode adds the option's name.
type valueError string

func (e valueError) Error() string { return string(e) }

func refused(wrong *json.SemanticError) error {
	name := named(wrong.JSONPointer)
	wants, plain := wanted[wrong.GoType.Kind()]
	_, own := reflect.New(wrong.GoType).Interface().(interface{ UnmarshalJSON([]byte) error })
	var value valueError
	switch {
	case errors.Is(wrong.Err, json.ErrUnknownName):
		return unknown(name, wrong.GoType)
	case errors.As(wrong.Err, &value):
		return fmt.Errorf("%s %w", name, value)
	case wrong.Err != nil && (own || !plain):
		return wrong.Err
	}
	is := kinds[wrong.JSONKind]
	if len(wrong.JSONValue) > 0 {
		is = string(wrong.JSONValue)
	}
	if name == "" {
		name = "it"
	}
	return fmt.Errorf("%s is %s, but must be %s", name, is, wants)
}

// namesMost is how many names an error lists: the options of a part, not those of a whole run.
const namesMost = 20

// unknown refuses an option that a struct does not have, with the one that was meant.
func unknown(name string, in reflect.Type) error {
	known := optionsOf(in)
	var hint string
	if near := words.Like(name[strings.LastIndex(name, ".")+1:], known); near != "" {
		hint = fmt.Sprintf(", %s is known", near)
	}
	if len(known) > 0 && len(known) <= namesMost {
		hint += "; allowed: " + strings.Join(known, ", ")
	}
	return fmt.Errorf("unknown option %q%s", name, hint)
}

// optionsOf are the names of a struct's options, in their order.
func optionsOf(of reflect.Type) (names []string) {
	if of.Kind() != reflect.Struct {
		return nil
	}
	for _, field := range reflect.VisibleFields(of) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// kinds are JSON's kinds of values in words.
var kinds = map[jsontext.Kind]string{
	'n': "null", 't': "true", 'f': "false", '0': "a number", '"': "a text", '{': "an object", '[': "a list",
}

// wanted says what a kind of Go values takes.
var wanted = map[reflect.Kind]string{
	reflect.Bool: "true or false", reflect.String: "a text", reflect.Float64: "a number",
	reflect.Int: "a whole number", reflect.Int64: "a whole number", reflect.Uint64: "a whole number from 0 on",
	reflect.Struct: "an object", reflect.Map: "an object", reflect.Slice: "a list",
}

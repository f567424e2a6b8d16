package runfile

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

var (
	runSchema      = sync.OnceValues(func() (*jsonschema.Schema, error) { return compile("") })
	campaignSchema = sync.OnceValues(func() (*jsonschema.Schema, error) { return compile("#/$defs/campaign") })
)

// compile compiles the schema, or a part of it.
func compile(part string) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("run.schema.json", document); err != nil {
		return nil, err
	}
	return c.Compile("run.schema.json" + part)
}

// Validate checks a run.json against its schema. The error names the first fault and the number of others; of a large
// document it names the first alone.
func Validate(data []byte) error {
	s, err := runSchema()
	if err != nil {
		return err
	}
	document, err := onlyValue(data)
	if err != nil {
		return err
	}
	if err := firstFault(s, document, nil); err != nil {
		return fmt.Errorf("is not a valid run: %w", err)
	}
	return nil
}

// onlyValue returns the one JSON value of a text.
func onlyValue(data []byte) (jsontext.Value, error) {
	scanner := newScanner(data)
	document, err := scanner.ReadValue() // it refuses equal names, which other readers join or take the last of
	if err == nil {
		if _, err = scanner.ReadToken(); err == nil {
			err = errors.New("unexpected data after the end")
		} else if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("is not JSON: %s", shortened(err.Error()))
	}
	return document, nil
}

// fault describes what the validator found at a place of the document.
func fault(place []string, err error) error {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	faults := leaves(invalid, place)
	more := ""
	if n := len(faults) - 1; n > 0 && len(place) == 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	return fmt.Errorf("%s%s", shortened(faults[0]), more)
}

var english = message.NewPrinter(language.English)

// leaves lists the faults without further causes: "account.lost: got string, want integer".
func leaves(e *jsonschema.ValidationError, place []string) []string {
	if len(e.Causes) == 0 {
		at := strings.Join(slices.Concat(place, e.InstanceLocation), ".")
		return []string{strings.TrimPrefix(at+": "+e.ErrorKind.LocalizedString(english), ": ")}
	}
	var all []string
	for _, cause := range e.Causes {
		all = append(all, leaves(cause, place)...)
	}
	return all
}

// sentenceMost is the most bytes of a fault that are shown. A file may have names and texts of any length.
const sentenceMost = 400

func shortened(text string) string {
	if len(text) <= sentenceMost {
		return text
	}
	return strings.ToValidUTF8(text[:sentenceMost], "") + "…"
}

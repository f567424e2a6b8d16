package report

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

var compiled = sync.OnceValues(func() (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("run.schema.json", document); err != nil {
		return nil, err
	}
	return c.Compile("run.schema.json")
})

// Validate checks a run.json against its schema. The error names the first fault and the number of others.
func Validate(data []byte) error {
	s, err := compiled()
	if err != nil {
		return err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("is not JSON: %w", err)
	}
	var invalid *jsonschema.ValidationError
	if err := s.Validate(document); errors.As(err, &invalid) {
		faults := leaves(invalid)
		more := ""
		if n := len(faults) - 1; n > 0 {
			more = fmt.Sprintf(" (and %d more)", n)
		}
		return fmt.Errorf("is no valid run: %s%s", faults[0], more)
	} else if err != nil {
		return err
	}
	return nil
}

var english = message.NewPrinter(language.English)

// leaves lists the faults without further causes: "account.lost: got string, want integer".
func leaves(e *jsonschema.ValidationError) []string {
	if len(e.Causes) == 0 {
		return []string{strings.TrimPrefix(strings.Join(e.InstanceLocation, ".")+": "+e.ErrorKind.LocalizedString(english), ": ")}
	}
	var all []string
	for _, cause := range e.Causes {
		all = append(all, leaves(cause)...)
	}
	return all
}

package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// The page's template holds null between these two, exactly once, where the run belongs.
const (
	opening = `<script id="run" type="application/json">`
	closing = `</script>`
)

// Page puts a run into the template of the page. encoding/json escapes <, > and & and the line separators of JavaScript, so
// nothing in the run can end the element that holds it.
func Page(template string, r *Run) ([]byte, error) {
	before, after, found := strings.Cut(template, opening+"null"+closing)
	if !found {
		return nil, errors.New("the page template has no place for the run; build it again with: npm run setup")
	}
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, part := range []string{before, opening, string(data), closing, after} {
		b.WriteString(part)
	}
	return b.Bytes(), nil
}

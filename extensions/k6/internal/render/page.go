package render

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// template is the page without a run. The set-up builds it from reports/page. It is committed, so the module builds
// without Node.
//
//go:embed page.gen.html
var template string

// The template has null between these, exactly once. The run replaces it.
const (
	opening = `<script id="run" type="application/json">`
	closing = `</script>`
)

// place is where the template has room for the part that needs no script.
const place = `<main id="report">`

// WritePage writes the page of a run.
func WritePage(w io.Writer, r *runfile.Run) error {
	return writePage(w, template, r, func(w io.Writer) error { return runfile.WriteChangedJSON(w, r, light) })
}

// RenderPage writes the page of a run.json.
func RenderPage(w io.Writer, run []byte) error {
	r, err := runfile.Parse(run)
	if err != nil {
		return err
	}
	return writePage(w, template, r, func(w io.Writer) error {
		data, err := light(run)
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	})
}

// writePage puts a run into the template: its main figures as plain HTML, and its JSON, compressed with gzip, as a
// base64 string. So the page of an hour stays small, and nothing in the run can end its element.
func writePage(w io.Writer, template string, r *runfile.Run, run func(io.Writer) error) error {
	before, after, _ := strings.Cut(template, opening+"null"+closing)
	head, rest, _ := strings.Cut(before, place)
	text := base64.NewEncoder(base64.StdEncoding, w)
	packed := gzip.NewWriter(text)
	for _, write := range []func() error{
		func() error { _, err := io.WriteString(w, head+place); return err },
		func() error { return writeStatic(w, r) },
		func() error { _, err := io.WriteString(w, rest+opening+`"`); return err },
		func() error { return run(packed) },
		packed.Close,
		text.Close,
		func() error { _, err := io.WriteString(w, `"`+closing+after); return err },
	} {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

// histogram matches a member of a latency. It can't match inside a string, where quotes are escaped.
var histogram = regexp.MustCompile(`"histogram"\s*:\s*"[^"]*"`)

// light removes the histograms of steps, flows and so on from a run.json: the page does not use them, and they do not
// compress. The histograms of the whole run stay, because the page offers them for download.
func light(run []byte) ([]byte, error) {
	return runfile.MapMembers(run, func(name string, value json.RawMessage) json.RawMessage {
		if name != "latency" {
			return histogram.ReplaceAllLiteral(value, []byte(`"histogram":null`))
		}
		return value
	})
}

// Shown reads the run from a page.
func Shown(page []byte) (*runfile.Run, error) {
	_, rest, found := bytes.Cut(page, []byte(opening))
	text, _, closed := bytes.Cut(rest, []byte(closing))
	if !found || !closed {
		return nil, errors.New("the page has no place for a run")
	}
	var packed []byte
	r := &runfile.Run{}
	err := json.Unmarshal(text, &packed)
	if err == nil {
		var data io.Reader
		if data, err = gzip.NewReader(bytes.NewReader(packed)); err == nil {
			err = json.NewDecoder(data).Decode(r)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the page holds no run: %w", err)
	}
	return r, nil
}

package report

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
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
func WritePage(w io.Writer, r *Run) error {
	return writePage(w, template, r, func(w io.Writer) error { return writeJSON(w, r, light) })
}

// RenderPage writes the page of a run.json.
func RenderPage(w io.Writer, run []byte) error {
	r, err := decode(run)
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
func writePage(w io.Writer, template string, r *Run, run func(io.Writer) error) error {
	before, after, _ := strings.Cut(template, opening+"null"+closing)
	head, rest, _ := strings.Cut(before, place)
	text := base64.NewEncoder(base64.StdEncoding, w)
	packed, err := gzip.NewWriterLevel(text, gzip.BestSpeed)
	if err != nil {
		return err
	}
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

// WriteJSON writes a run as JSON. It encodes one second of the timeline at a time: that of a day has 56 MB.
func WriteJSON(w io.Writer, r *Run) error {
	return writeJSON(w, r, func(all []byte) ([]byte, error) { return all, nil })
}

// writeJSON writes a run. change may edit its JSON without the timeline.
func writeJSON(w io.Writer, r *Run, change func([]byte) ([]byte, error)) error {
	rest := *r
	rest.Timeline = nil
	data, err := json.Marshal(&rest)
	if err == nil {
		data, err = change(data)
	}
	if err != nil {
		return err
	}
	// Neighbours in Run. This text occurs once: strings escape their quotes, and map keys are sorted.
	const timeline, next = `,"timeline":`, `,"resources":`
	if r.Timeline == nil {
		_, err := w.Write(data)
		return err
	}
	before, after, _ := bytes.Cut(data, []byte(timeline+"null"+next))
	b := bufio.NewWriter(w) // Flush returns its first error
	_, _ = b.Write(before)
	_, _ = b.WriteString(timeline + "[")
	for i := range r.Timeline {
		row, err := json.Marshal(&r.Timeline[i])
		if err != nil {
			return err
		}
		if i > 0 {
			_ = b.WriteByte(',')
		}
		_, _ = b.Write(row)
	}
	_, _ = b.WriteString("]" + next)
	_, _ = b.Write(after)
	return b.Flush()
}

// histogram matches a member of a latency. It can't match inside a string, where quotes are escaped.
var histogram = regexp.MustCompile(`"histogram"\s*:\s*"[^"]*"`)

// light removes the histograms of steps, flows and so on from a run.json: the page does not use them, and they do not
// compress. The histograms of the whole run stay, because the page offers them for download.
func light(run []byte) ([]byte, error) {
	return mapMembers(run, func(name string, value json.RawMessage) json.RawMessage {
		if name != "latency" {
			return histogram.ReplaceAllLiteral(value, []byte(`"histogram":null`))
		}
		return value
	})
}

// setMember replaces a member of a JSON object, or puts it first.
func setMember(object []byte, name string, value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	found := false
	object, err = mapMembers(object, func(member string, value json.RawMessage) json.RawMessage {
		if member != name {
			return value
		}
		found = true
		return text
	})
	if err != nil || found {
		return object, err
	}
	return slices.Concat([]byte(`{"`+name+`":`), text, []byte(","), object[1:]), nil
}

// mapMembers changes the values of a JSON object's members.
func mapMembers(object []byte, change func(name string, value json.RawMessage) json.RawMessage) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	b := bytes.NewBuffer(make([]byte, 0, len(object)))
	for separator := byte('{'); d.More(); separator = ',' {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		name, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		for _, piece := range [][]byte{{separator}, name, {':'}, change(fmt.Sprint(key), value)} {
			_, _ = b.Write(piece)
		}
	}
	_ = b.WriteByte('}')
	return b.Bytes(), nil
}

// Shown reads the run from a page.
func Shown(page []byte) (*Run, error) {
	_, rest, found := bytes.Cut(page, []byte(opening))
	text, _, closed := bytes.Cut(rest, []byte(closing))
	if !found || !closed {
		return nil, errors.New("the page has no place for a run")
	}
	var packed []byte
	r := &Run{}
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

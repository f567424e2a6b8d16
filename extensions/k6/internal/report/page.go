package report

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// The page's template holds null between these two, exactly once, where the run belongs.
const (
	opening = `<script id="run" type="application/json">`
	closing = `</script>`
)

// WritePage puts a run into the template of the page: JSON, compressed with gzip, as a JSON string in base64, so that the page of
// an hour stays small and nothing in the run can end the element that holds it.
func WritePage(w io.Writer, template string, r *Run) error {
	before, after, found := strings.Cut(template, opening+"null"+closing)
	if !found {
		return errors.New("the page template has no place for the run; build it again with: npm run setup")
	}
	text := base64.NewEncoder(base64.StdEncoding, w)
	packed, err := gzip.NewWriterLevel(text, gzip.BestSpeed)
	if err != nil {
		return err
	}
	for _, write := range []func() error{
		func() error { _, err := io.WriteString(w, before+opening+`"`); return err },
		func() error { return WriteJSON(packed, light(r)) },
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

// WriteJSON writes a run as JSON, a second of its timeline after the other: that of a day is 56 MB, which need not be there at once.
func WriteJSON(w io.Writer, r *Run) error {
	rest := *r
	rest.Timeline = nil
	data, err := json.Marshal(&rest)
	if err != nil {
		return err
	}
	// Neighbours in Run. They stand nowhere else: quotes in a string are escaped, and the keys of a map are sorted.
	const timeline, next = `,"timeline":`, `,"resources":`
	if r.Timeline == nil {
		_, err := w.Write(data)
		return err
	}
	before, after, _ := bytes.Cut(data, []byte(timeline+"null"+next))
	b := bufio.NewWriter(w) // which keeps its first error
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

// Shown is the run that a page holds.
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

// light is a run without the histograms of its parts, which no figure of the page is made from and which do not compress.
// Those of the whole stay: the page offers them for download.
func light(r *Run) *Run {
	l := *r
	l.Steps = slices.Clone(r.Steps)
	for i := range l.Steps {
		own := &l.Steps[i].Latency
		own.Stages = maps.Clone(own.Stages)
		for name, stage := range own.Stages {
			own.Stages[name] = *bare(&stage)
		}
		own.Arrival, own.FromSend, own.HTTP = *bare(&own.Arrival), *bare(&own.FromSend), *bare(&own.HTTP)
	}
	l.Flows = slices.Clone(r.Flows)
	for i := range l.Flows {
		l.Flows[i].Arrival = *bare(&l.Flows[i].Arrival)
	}
	if r.Canary != nil {
		l.Canary = new(*r.Canary)
		l.Canary.Latency = *bare(&l.Canary.Latency)
	}
	l.Health.Lateness, l.Health.SocketWait = bare(r.Health.Lateness), bare(r.Health.SocketWait)
	return &l
}

// bare is a latency without its histogram. nil stays nil.
func bare(l *Latency) *Latency {
	if l == nil {
		return nil
	}
	own := *l
	own.Histogram = nil
	return &own
}

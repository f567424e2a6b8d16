package report

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The page's template holds null between these two, exactly once, where the run belongs.
const (
	opening = `<script id="run" type="application/json">`
	closing = `</script>`
)

// Page puts a run into the template of the page: JSON, compressed with gzip, as a JSON string in base64, so that the page of
// an hour stays small and nothing in the run can end the element that holds it.
func Page(template string, r *Run) ([]byte, error) {
	before, after, found := strings.Cut(template, opening+"null"+closing)
	if !found {
		return nil, errors.New("the page template has no place for the run; build it again with: npm run setup")
	}
	data, err := json.Marshal(light(r))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(before + opening + `"`)
	text := base64.NewEncoder(base64.StdEncoding, &b)
	packed, err := gzip.NewWriterLevel(text, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	// Writing to a buffer does not fail.
	_, _ = packed.Write(data)
	_ = packed.Close()
	_ = text.Close()
	b.WriteString(`"` + closing + after)
	return b.Bytes(), nil
}

// Shown is the run that a page holds.
func Shown(page []byte) (*Run, error) {
	_, rest, found := bytes.Cut(page, []byte(opening))
	text, _, closed := bytes.Cut(rest, []byte(closing))
	if !found || !closed {
		return nil, errors.New("the page has no place for a run")
	}
	var packed []byte
	if err := json.Unmarshal(text, &packed); err != nil {
		return nil, fmt.Errorf("the page holds no run: %w", err)
	}
	data, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("the page holds no run: %w", err)
	}
	r := &Run{}
	if err := json.NewDecoder(data).Decode(r); err != nil {
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
		l.Steps[i].Latency = lightAll(l.Steps[i].Latency)
	}
	l.Flows = slices.Clone(r.Flows)
	for i := range l.Flows {
		l.Flows[i].Arrival.Histogram = nil
	}
	if r.Canary != nil {
		c := *r.Canary
		c.Latency.Histogram = nil
		l.Canary = &c
	}
	for _, part := range []**Latency{&l.Health.Lateness, &l.Health.SocketWait} {
		if *part != nil {
			w := **part
			w.Histogram = nil
			*part = &w
		}
	}
	return &l
}

func lightAll(l Latencies) Latencies {
	l.Arrival.Histogram, l.FromSend.Histogram, l.HTTP.Histogram = nil, nil, nil
	stages := make(map[string]Latency, len(l.Stages))
	for name, s := range l.Stages {
		s.Histogram = nil
		stages[name] = s
	}
	l.Stages = stages
	return l
}

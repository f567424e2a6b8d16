package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Campaign is what many runs found out together: figures, as if the script of the run that they are added to had
// measured them, and the probes of a search.
type Campaign struct {
	Figures []Figure `json:"figures"`
	Probes  []Probe  `json:"probes"`
}

// CampaignOf reads a Campaign from JSON. The error says what is wrong with it, without its name.
func CampaignOf(data []byte) (found Campaign, err error) {
	s, err := campaignSchema()
	if err != nil {
		return found, err
	}
	document, err := onlyValue(data)
	if err == nil {
		err = firstFault(s, document, nil)
	}
	if err == nil {
		err = json.Unmarshal(document, &found)
	}
	return found, err
}

// Annotate adds what a campaign found to a run, by the path of its run.json or of its directory: to run.json, its
// summary and its page. summary.md gets the figures and the sentence, which may be empty. It changes nothing else of
// the run, and nothing at all where a figure has the name of another one, or the run has probes already.
func Annotate(path string, found Campaign, sentence string) error {
	data, r, err := loadWhole(path)
	if err != nil {
		return err
	}
	for _, f := range found.Figures {
		if f.Name == "" {
			return fmt.Errorf("a figure has no name")
		}
		if slices.ContainsFunc(r.Figures, func(one Figure) bool { return one.Name == f.Name }) {
			return fmt.Errorf("%s has a figure %q already", path, f.Name)
		}
		r.Figures = append(r.Figures, f)
	}
	if data, err = setMember(data, "figures", r.Figures); err != nil {
		return err
	}
	if len(found.Probes) > 0 {
		if len(r.Probes) > 0 {
			return fmt.Errorf("%s has the probes of a search already", path)
		}
		if data, err = setMember(data, "probes", found.Probes); err != nil {
			return err
		}
		if r.Facts.Titles != nil {
			r.Facts.Titles["search"] = SearchTitle(found.Probes)
			if data, err = setMember(data, "facts", r.Facts); err != nil {
				return err
			}
		}
	}
	if err := Validate(data); err != nil {
		return fmt.Errorf("%s with these figures %w", path, err)
	}
	dir := DirectoryOf(path)
	// Made before anything is written: a summary.md that can't be read leaves the run as it is.
	text, err := annotatedMarkdown(filepath.Join(dir, MarkdownName), r, found.Figures, sentence)
	if err != nil {
		return err
	}
	return rewrite(dir, r, data, text)
}

// loadWhole reads a run that is to be changed: as it stands, and as this version understands it.
func loadWhole(path string) (data []byte, r *Run, err error) {
	if data, err = Load(path); err != nil {
		return nil, nil, err
	}
	if r, err = decode(data); err != nil {
		return nil, nil, fmt.Errorf("%s is not a run that this version can read: %w", path, err)
	}
	return data, r, nil
}

// rewrite writes a run that was changed: run.json, its summary, its page and summary.md.
func rewrite(dir string, r *Run, data, text []byte) error {
	if err := Replace(filepath.Join(dir, FileName), put(data)); err != nil {
		return err
	}
	if err := saveSummary(dir, r); err != nil {
		return err
	}
	if err := Replace(filepath.Join(dir, PageName),
		func(w *bufio.Writer) error { return RenderPage(w, data) }); err != nil {
		return err
	}
	return Replace(filepath.Join(dir, MarkdownName), put(text))
}

// SetSpans replaces the stages by spans of a run, by the path of its run.json or of its directory, in all that Annotate
// writes, with the facts that follow from them. It returns the run.
func SetSpans(path string, s *Spans, follow func(r *Run)) (*Run, error) {
	data, r, err := loadWhole(path)
	if err != nil {
		return nil, err
	}
	dir := DirectoryOf(path)
	before := markdownOfSpans(r)
	r.Spans = s.Against(r.Latency.Arrival)
	follow(r)
	if data, err = setMember(data, "spans", r.Spans); err != nil {
		return nil, err
	}
	if data, err = setMember(data, "facts", r.Facts); err != nil {
		return nil, err
	}
	if err := Validate(data); err != nil {
		return nil, fmt.Errorf("%s with these spans %w", path, err)
	}
	text, err := ReadFile(filepath.Join(dir, MarkdownName))
	switch {
	case os.IsNotExist(err):
		text = []byte(Markdown(r))
	case err != nil:
		return nil, err
	case before != "" && bytes.Contains(text, []byte(before)):
		text = bytes.Replace(text, []byte(before), []byte(markdownOfSpans(r)), 1)
	default:
		text = append(text, markdownOfSpans(r)...)
	}
	return r, rewrite(dir, r, data, text)
}

func markdownOfSpans(r *Run) string {
	m := &markdown{}
	m.spans(r)
	return m.String()
}

func annotatedMarkdown(path string, r *Run, figures []Figure, sentence string) ([]byte, error) {
	text, err := ReadFile(path)
	if os.IsNotExist(err) {
		before := *r
		before.Figures = before.Figures[:len(before.Figures)-len(figures)]
		text, err = []byte(Markdown(&before)), nil
	}
	if err != nil {
		return nil, err
	}
	more := &markdown{}
	more.figures(figures)
	if sentence != "" {
		more.line("\n%s", plain(sentence))
	}
	return slices.Concat(text, []byte(more.String())), nil
}

// DirectoryOf is the directory of a run, by the path of its run.json or its own.
func DirectoryOf(path string) string {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return filepath.Dir(path)
	}
	return path
}

func put(data []byte) func(*bufio.Writer) error {
	return func(w *bufio.Writer) error { _, err := w.Write(data); return err }
}

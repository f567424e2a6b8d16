package render

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// Annotate adds what a campaign found to a run, by the path of its run.json or of its directory: to run.json, its
// summary and its page. summary.md gets the figures and the sentence, which may be empty. It changes nothing else of
// the run, and nothing at all where a figure has the name of another one, or the run has probes already.
func Annotate(path string, found runfile.Campaign, sentence string) error {
	data, r, err := loadWhole(path)
	if err != nil {
		return err
	}
	for _, f := range found.Figures {
		if f.Name == "" {
			return fmt.Errorf("a figure has no name")
		}
		if slices.ContainsFunc(r.Figures, func(one runfile.Figure) bool { return one.Name == f.Name }) {
			return fmt.Errorf("%s has a figure %q already", path, f.Name)
		}
		r.Figures = append(r.Figures, f)
	}
	if data, err = runfile.SetMember(data, "figures", r.Figures); err != nil {
		return err
	}
	if len(found.Probes) > 0 {
		if len(r.Probes) > 0 {
			return fmt.Errorf("%s has the probes of a search already", path)
		}
		if data, err = runfile.SetMember(data, "probes", found.Probes); err != nil {
			return err
		}
		r.Answer.Sentence = runfile.WithSearch(r, found.Probes, r.Answer.Sentence)
		if data, err = runfile.SetMember(data, "answer", r.Answer); err != nil {
			return err
		}
		if r.Facts.Titles != nil {
			r.Facts.Titles["search"] = runfile.SearchTitle(found.Probes)
			if data, err = runfile.SetMember(data, "facts", r.Facts); err != nil {
				return err
			}
		}
	}
	if err := runfile.Validate(data); err != nil {
		return fmt.Errorf("%s with these figures %w", path, err)
	}
	dir := runfile.DirectoryOf(path)
	// Made before anything is written: a summary.md that can't be read leaves the run as it is.
	text, err := annotatedMarkdown(filepath.Join(dir, runfile.MarkdownName), r, found.Figures, sentence)
	if err != nil {
		return err
	}
	return rewrite(dir, r, data, text)
}

// loadWhole reads a run that is to be changed: as it stands, and as this version understands it.
func loadWhole(path string) (data []byte, r *runfile.Run, err error) {
	if data, err = runfile.Load(path); err != nil {
		return nil, nil, err
	}
	if r, err = runfile.Parse(data); err != nil {
		return nil, nil, fmt.Errorf("%s is not a run that this version can read: %w", path, err)
	}
	return data, r, nil
}

// rewrite writes a run that was changed: run.json, its summary, its page and summary.md.
func rewrite(dir string, r *runfile.Run, data, text []byte) error {
	if err := runfile.Replace(filepath.Join(dir, runfile.FileName), put(data)); err != nil {
		return err
	}
	if err := runfile.SaveSummary(dir, r); err != nil {
		return err
	}
	if err := runfile.Replace(filepath.Join(dir, runfile.PageName),
		func(w *bufio.Writer) error { return RenderPage(w, data) }); err != nil {
		return err
	}
	return runfile.Replace(filepath.Join(dir, runfile.MarkdownName), put(text))
}

// SetSpans replaces the stages by spans of a run, by the path of its run.json or of its directory, in all that Annotate
// writes, with the facts that follow from them. It returns the run.
func SetSpans(path string, s *runfile.Spans, follow func(r *runfile.Run)) (*runfile.Run, error) {
	data, r, err := loadWhole(path)
	if err != nil {
		return nil, err
	}
	dir := runfile.DirectoryOf(path)
	before := markdownOfSpans(r)
	r.Spans = s.Against(r.Latency.Arrival)
	follow(r)
	if data, err = runfile.SetMember(data, "spans", r.Spans); err != nil {
		return nil, err
	}
	if data, err = runfile.SetMember(data, "facts", r.Facts); err != nil {
		return nil, err
	}
	if err := runfile.Validate(data); err != nil {
		return nil, fmt.Errorf("%s with these spans %w", path, err)
	}
	text, err := runfile.ReadFile(filepath.Join(dir, runfile.MarkdownName))
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

func markdownOfSpans(r *runfile.Run) string {
	m := &markdown{}
	m.spans(r)
	return m.String()
}

func annotatedMarkdown(path string, r *runfile.Run, figures []runfile.Figure, sentence string) ([]byte, error) {
	text, err := runfile.ReadFile(path)
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

func put(data []byte) func(*bufio.Writer) error {
	return func(w *bufio.Writer) error { _, err := w.Write(data); return err }
}

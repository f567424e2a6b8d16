package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Campaign is what many runs found out together: figures, as if the script of the run that they are added to had measured
// them, and the probes of a search.
type Campaign struct {
	Figures []Figure `json:"figures"`
	Probes  []Probe  `json:"probes"`
}

// Annotate adds what a campaign found to a run, by the path of its run.json or of its directory: to run.json, its summary
// and its page. summary.md gets the figures and the sentence, which may be empty. It changes nothing else of the run, and
// nothing at all where a figure has the name of another one, or the run has probes already.
func Annotate(path string, found Campaign, sentence string) error {
	data, err := Load(path)
	if err != nil {
		return err
	}
	var r Run
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("%s is not a run that this version can read: %w", path, err)
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
	}
	if err := Validate(data); err != nil {
		return fmt.Errorf("%s with these figures %w", path, err)
	}
	dir := DirectoryOf(path)
	// Made before anything is written: a summary.md that can't be read leaves the run as it is.
	text, err := annotatedMarkdown(filepath.Join(dir, MarkdownName), &r, found.Figures, sentence)
	if err != nil {
		return err
	}
	if err := Replace(filepath.Join(dir, FileName), put(data)); err != nil {
		return err
	}
	if err := saveSummary(dir, &r); err != nil {
		return err
	}
	if err := Replace(filepath.Join(dir, PageName), func(w *bufio.Writer) error { return RenderPage(w, data) }); err != nil {
		return err
	}
	return Replace(filepath.Join(dir, MarkdownName), put(text))
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

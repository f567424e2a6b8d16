// Package render shows a run: for a terminal, as Markdown and JUnit, and as the page. It computes nothing; what it
// shows is in run.json.
package render

import (
	"bufio"
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// SaveWhole is Save for a run in progress or at its end: if it is killed meanwhile, Recover completes the report.
// answer is the script's own.
func SaveWhole(dir string, r *runfile.Run, answer string) error {
	return cmp.Or(runfile.SaveLatest(dir, r, len(r.Timeline), answer), Save(dir, r), runfile.RemoveLatest(dir))
}

// Save writes run.json, its summary, the files for CI, and the page into a run's directory, each atomically.
func Save(dir string, r *runfile.Run) error {
	files := map[string]func(*bufio.Writer) error{
		runfile.FileName: func(w *bufio.Writer) error {
			err := runfile.WriteJSON(w, r)
			_, _ = w.WriteString("\n") // Flush returns the first error
			return err
		},
		"junit.xml": func(w *bufio.Writer) error {
			data, err := JUnit(r)
			_, _ = w.Write(data)
			return err
		},
		runfile.MarkdownName: func(w *bufio.Writer) error {
			_, err := w.WriteString(Markdown(r))
			return err
		},
		runfile.PageName: func(w *bufio.Writer) error { return WritePage(w, r) },
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := runfile.Replace(filepath.Join(dir, name), files[name]); err != nil {
			return fmt.Errorf("the run's report can't be written: %s: %w", name, err)
		}
	}
	if err := runfile.SaveSummary(dir, r); err != nil {
		return fmt.Errorf("the run's report can't be written: %s: %w", runfile.SummaryName, err)
	}
	return nil
}

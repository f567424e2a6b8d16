package command

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/errext"

	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

func newRender(gs *state.GlobalState) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "render <run.json|directory>...",
		Short: "Write the page of runs anew",
		Long: `Writes the page of each run from its run.json, as index.html beside it, and prints its path. The page is one file, which loads nothing.

Exit code: 0 when all pages are written, 1 when one is not: a file is not a valid run, or the page can't be written.`,
		Example: "  k6 x arrival render reports/runs/smoke-single-loopback-2026-01-31T12-00-00\n  k6 x arrival render run.json --out report.html",
		Args:    some("a run.json, or the directory of a run"),
		RunE: func(_ *cobra.Command, given []string) error {
			if out != "" && len(given) > 1 {
				return errext.WithExitCodeIfNone(errors.New("--out is the page of one run, and there are more"), wrong)
			}
			return each(gs, given, func(path string) error {
				page, err := render(path, out)
				if err == nil {
					fmt.Fprintln(gs.Stdout, report.Printable(short(page)))
				}
				return err
			})
		},
	}
	c.Flags().StringVar(&out, "out", "", "the page of the one run (index.html beside its run.json)")
	return c
}

func render(path, out string) (page string, err error) {
	run, err := report.Load(path)
	if err != nil {
		return "", err
	}
	if page = out; page == "" {
		dir := path
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			dir = filepath.Dir(path)
		}
		page = filepath.Join(dir, report.PageName)
	}
	return page, report.Replace(page, func(w *bufio.Writer) error { return report.RenderPage(w, run) })
}

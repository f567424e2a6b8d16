package command

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"

	"github.com/arrival-bench/arrival/extensions/k6/internal/merge"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

const (
	wrong     = exitcodes.ExitCode(1) // nothing was judged
	notPassed = int(exitcodes.ThresholdsHaveFailed)
)

func newMerge(gs *state.GlobalState) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "merge <directory>...",
		Short: "Make one run of what several instances have left that did it together",
		Long: `Makes one run of what several instances have left that did it together (k6's --execution-segment). A directory is that of an
instance, or of a run whose instances have theirs in it. Counts and histograms are added exactly, and the whole is judged.

Exit code: 0 when the run passes, 99 when it does not, 1 when there is no run: the parts can't be read, or are not of one run.`,
		Args: some("a directory that holds a run's instances, or theirs"),
		RunE: func(_ *cobra.Command, given []string) error {
			dir, r, err := merge.Directories(given, out)
			if err != nil {
				return errext.WithExitCodeIfNone(err, wrong)
			}
			fmt.Fprint(gs.Stdout, report.Text(r, short(filepath.Join(dir, report.PageName)), gs.Stdout.IsTTY && !gs.Flags.NoColor))
			if r.Verdict.Result != report.Pass {
				gs.OSExit(notPassed)
			}
			return nil
		},
	}
	c.Flags().StringVar(&out, "out", "", "where the whole goes (the directory that its instances' are in)")
	return c
}

func some(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, given []string) error {
		if len(given) == 0 {
			return errext.WithExitCodeIfNone(fmt.Errorf("%s takes %s; --help says more", c.Name(), what), wrong)
		}
		return nil
	}
}

func short(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if relative, err := filepath.Rel(wd, path); err == nil && len(relative) < len(path) {
		return relative
	}
	return path
}

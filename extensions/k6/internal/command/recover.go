package command

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.k6.io/k6/v2/cmd/state"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runs"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

func newRecover(gs *state.GlobalState) *cobra.Command {
	return &cobra.Command{
		Use:   "recover <directory>...",
		Short: "Bring the reports of killed runs up to what they had written",
		Long: `A run that was killed leaves its last whole report, and its later seconds in latest.json and timeline.ndjson. This makes one
report of them, and prints the directory of each run that had something newer. A run in progress stays as it is. The other
commands do the same with the run that they read.

Exit code: 0; 1 when there is no such directory, what is left can't be read, or the report can't be written.`,
		Args: some("the directory of a run"),
		RunE: func(_ *cobra.Command, given []string) error {
			return each(gs, given, func(path string) error {
				if _, err := os.Stat(path); err != nil {
					return err
				}
				recovered, err := runs.Recover(runfile.DirectoryOf(path))
				if recovered && err == nil {
					fmt.Fprintln(gs.Stdout, words.Printable(path))
				}
				return err
			})
		},
	}
}

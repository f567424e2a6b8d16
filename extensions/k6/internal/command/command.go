// Package command is `k6 x arrival`: the commands that need no script.
package command

import (
	"github.com/spf13/cobra"
	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/errext"

	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
	"github.com/arrival-bench/arrival/extensions/k6/record"
)

// Name is what follows `k6 x`.
const Name = "arrival"

// New makes the command. Each sub-command has its own constructor, which is called only here.
func New(gs *state.GlobalState) *cobra.Command {
	root := &cobra.Command{
		Use:     Name,
		Short:   "Measure the latency from due time to arrival, and account for every message",
		Version: report.Version,
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.AddCommand(
		record.New(gs),
		newMerge(gs),
		newCheck(gs),
		newRender(gs),
	)
	return root
}

// each calls do for every path, also after an error. It logs all errors but the last, which it returns with an
// exit code.
func each(gs *state.GlobalState, paths []string, do func(path string) error) error {
	var last error
	for _, path := range paths {
		if err := do(path); err != nil {
			if last != nil {
				gs.Logger.Error(last)
			}
			last = err
		}
	}
	return errext.WithExitCodeIfNone(last, wrong)
}

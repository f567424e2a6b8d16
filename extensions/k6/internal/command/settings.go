package command

import (
	"encoding/json"

	"github.com/spf13/cobra"
	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/errext"

	"github.com/arrival-bench/arrival/extensions/k6/internal/settings"
)

// newSettings makes the command by which `npm run` reads a pipeline file. What it prints has secrets.
func newSettings(gs *state.GlobalState) *cobra.Command {
	var given []string
	c := &cobra.Command{
		Use:    "settings <pipeline.yml>",
		Short:  "Print the settings of a pipeline file as JSON",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := settingsOf(gs, args[0], given)
			if err == nil {
				err = json.NewEncoder(gs.Stdout).Encode(all)
			}
			return errext.WithExitCodeIfNone(err, wrong)
		},
	}
	c.Flags().StringSliceVar(&given, "given", nil, "names that flags set, which stand before the file")
	return c
}

// settingsOf reads the settings of a pipeline file that take effect beside those of flags.
func settingsOf(gs *state.GlobalState, path string, flags []string) ([]settings.Setting, error) {
	lookup := func(name string) (string, bool) { value, is := gs.Env[name]; return value, is }
	all, err := settings.Read(path, lookup)
	if err != nil {
		return nil, err
	}
	return settings.Effective(all, flags, lookup)
}

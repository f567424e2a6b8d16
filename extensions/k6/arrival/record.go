package arrival

import (
	"errors"

	"github.com/spf13/cobra"
	"go.k6.io/k6/v2/cmd/state"
)

// NewRecordCommand is `k6 x arrival record`.
func NewRecordCommand(_ *state.GlobalState) *cobra.Command {
	return &cobra.Command{
		Use:   "record",
		Short: "Record a run whose requests another program sends",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return errors.New("not there yet") },
	}
}

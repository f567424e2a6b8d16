package command

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/errext"

	"github.com/arrival-bench/arrival/extensions/k6/internal/render"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runs"
)

// figuresMost is the most bytes of figures that annotate reads.
const figuresMost = 1 << 20

func newAnnotate(gs *state.GlobalState) *cobra.Command {
	var file, sentence string
	c := &cobra.Command{
		Use:   "annotate <run.json|directory> --figures <file>",
		Short: "Add figures of a campaign to a run",
		Long: `Adds figures to a run as if its script had measured them: to its run.json, summary.json, summary.md and page,
each written atomically. The file is JSON:

  {"figures": [{"name": "highest rate", "value": 1200, "unit": "requests/s"}],
   "probes": [{"rate": 1200, "seconds": 15, "held": true, "p99_ms": 41.5}]}

Up to 100 figures are added; a value of null is not known. "probes" is optional: the ladder of a search for the
capacity, of up to 1,000 runs.

Exit code: 0 when the run has the figures, 1 when not: they or the run are not valid, or the run has one of that name.`,
		Example: "  k6 x arrival annotate reports/runs/smoke-single-loopback-20260131T120000Z --figures " +
			"figures.json",
		Args: some("a run.json, or the directory of a run"),
		RunE: func(_ *cobra.Command, given []string) error {
			if len(given) > 1 {
				return errext.WithExitCodeIfNone(errors.New("annotate takes one run"), wrong)
			}
			found, err := readCampaign(gs, file)
			if err == nil {
				_, err = runs.Load(given[0]) // completes the report of a killed run
			}
			if err == nil {
				err = render.Annotate(given[0], found, sentence)
			}
			return errext.WithExitCodeIfNone(err, wrong)
		},
	}
	c.Flags().StringVar(&file, "figures", "", "`file` of the figures; - is standard input")
	c.Flags().StringVar(&sentence, "sentence", "", "what they mean, for summary.md")
	return c
}

func readCampaign(gs *state.GlobalState, file string) (found runfile.Campaign, err error) {
	var data []byte
	switch file {
	case "":
		return found, errors.New("--figures says which file has the figures; - is standard input")
	case "-":
		data, err = io.ReadAll(io.LimitReader(gs.Stdin, figuresMost+1))
		if err == nil && len(data) > figuresMost {
			err = fmt.Errorf("standard input has more than %d bytes of figures", figuresMost)
		}
	default:
		data, err = runfile.ReadFileUpTo(file, figuresMost)
	}
	if err != nil {
		return found, err
	}
	if found, err = runfile.CampaignOf(data); err != nil {
		const like = `{"figures": [{"name": "highest rate", "value": 1200, "unit": "requests/s"}]}`
		return found, fmt.Errorf("--figures %s: %w; allowed: what is like %s", file, err, like)
	}
	return found, nil
}

package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/errext"

	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// figuresMost is the most bytes of figures that annotate reads from standard input.
const figuresMost = 1 << 20

func newAnnotate(gs *state.GlobalState) *cobra.Command {
	var file, sentence string
	c := &cobra.Command{
		Use:   "annotate <run.json|directory> --figures <file>",
		Short: "Add figures of a campaign to a run",
		Long: `Adds figures to a run as if its script had measured them: to its run.json, summary.json, summary.md and
page, each written atomically. The file is a JSON list: [{"name": "highest rate", "value": 1200, "unit": "requests/s"}];
a value of null is not known.

Exit code: 0 when the run has the figures, 1 when not: they or the run are not valid, or the run has one of that name.`,
		Example: "  k6 x arrival annotate reports/runs/smoke-single-loopback-2026-01-31T12-00-00 --figures figures.json",
		Args:    some("a run.json, or the directory of a run"),
		RunE: func(_ *cobra.Command, given []string) error {
			if len(given) > 1 {
				return errext.WithExitCodeIfNone(errors.New("annotate takes one run"), wrong)
			}
			figures, err := readFigures(gs, file)
			if err == nil {
				err = report.Annotate(given[0], figures, sentence)
			}
			return errext.WithExitCodeIfNone(err, wrong)
		},
	}
	c.Flags().StringVar(&file, "figures", "", "file of the figures; - is standard input")
	c.Flags().StringVar(&sentence, "sentence", "", "what they mean, for summary.md")
	return c
}

func readFigures(gs *state.GlobalState, file string) (figures []report.Figure, err error) {
	var data []byte
	switch file {
	case "":
		return nil, errors.New("--figures says which file has the figures; - is standard input")
	case "-":
		data, err = io.ReadAll(io.LimitReader(gs.Stdin, figuresMost+1))
		if err == nil && len(data) > figuresMost {
			err = fmt.Errorf("standard input has more than %d bytes of figures", figuresMost)
		}
	default:
		data, err = report.ReadFile(file)
	}
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&figures); err != nil {
		const like = `[{"name": "highest rate", "value": 1200, "unit": "requests/s"}]`
		return nil, fmt.Errorf("--figures: not a list like %s: %w", like, err)
	}
	if d.More() || len(figures) == 0 {
		return nil, errors.New("--figures: one list of one figure or more is allowed")
	}
	return figures, nil
}

package command

import (
	"fmt"

	"github.com/spf13/cobra"
	"go.k6.io/k6/v2/cmd/state"

	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

func newCheck(gs *state.GlobalState) *cobra.Command {
	var slos []string
	c := &cobra.Command{
		Use:   "check <run.json|directory>...",
		Short: "Check that runs are valid, and print their verdicts",
		Long: `Holds each run.json against the schema that this program writes by, and prints the verdict and every rule that led to it.

Exit code: 0 when all runs pass, 99 when one does not, 1 when a file is not a valid run. A limit that was not judged is no pass.`,
		Args: some("a run.json, or the directory of a run"),
		RunE: func(_ *cobra.Command, given []string) error {
			passed := true
			err := each(gs, given, func(path string) error {
				r, err := report.Read(path)
				if err != nil {
					return err
				}
				for _, slo := range slos {
					rule, err := report.NewWithinRule(slo, r)
					if err != nil {
						return fmt.Errorf("--slo: %w", err)
					}
					r.Verdict.Rules = append(r.Verdict.Rules, rule)
					if r.Verdict.Result == report.Pass && rule.OK != nil && !*rule.OK {
						r.Verdict.Result = report.Fail
					}
				}
				result, lines := verdict(r)
				passed = passed && result == report.Pass
				fmt.Fprintf(gs.Stdout, "%-10s  %s\n", result, report.Printable(path))
				for _, line := range lines {
					fmt.Fprintf(gs.Stdout, "  %s\n", report.Printable(line))
				}
				return nil
			})
			if err == nil && !passed {
				gs.OSExit(notPassed)
			}
			return err
		},
	}
	c.Flags().StringArrayVar(&slos, "slo", nil, `a limit beside the run's own, as "arrival.within(250ms) >= 99.9%"; may be repeated`)
	return c
}

// verdict is the result of a run, and a line for each of its rules.
func verdict(r *report.Run) (result string, lines []string) {
	result = r.Verdict.Result
	if r.Verdict.Rules == nil {
		lines = append(lines, "not judged  an earlier version wrote it, without rules")
	}
	open := r.Verdict.Rules == nil
	for _, rule := range r.Verdict.Rules {
		held := "held"
		switch {
		case rule.OK == nil:
			held = "not judged"
			open = open || rule.Limit != nil
		case !*rule.OK:
			held = rule.Result
		}
		lines = append(lines, fmt.Sprintf("%-10s  %s", held, rule.Measured()))
	}
	if open && result == report.Pass {
		result = report.Incomplete
	}
	return result, lines
}

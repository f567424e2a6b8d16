package command

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/errext"

	"github.com/arrival-bench/arrival/extensions/k6/internal/judge"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runs"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

func newCheck(gs *state.GlobalState) *cobra.Command {
	var texts, slos []string
	c := &cobra.Command{
		Use:   "check <run.json|directory>...",
		Short: "Check runs against thresholds, and print their verdicts",
		Long: `Checks each run.json against its schema, and prints the verdict and every rule that led to it. Each --threshold
is one more limit: it says what must hold, as a threshold of k6 does, and the run is judged with it. One on an end of
the account replaces the run's limit of 0 on that end.

Thresholds are on
  latencies    arrival.p99 < 250ms; also from_send, http, canary, and the run's stages, like queue.mean
  shares       arrival.within(250ms) >= 99.9%
  rates        rate.arrived >= 1000/s; also requests, accepted
  the account  account.lost == 0, account.requests_failed < 10

Exit code:
  0   every run passes, and every threshold holds
  99  a limit is broken (k6's code for a crossed threshold)
  2   none is broken, but one is undecided (the instrument's doubt is wider than the distance to it) or was not
      judged (an unusable run, too few samples): run it again
  1   the command is wrong, or a file is not a valid run`,
		Example: "  k6 x arrival check --threshold 'arrival.p99 < 250ms' --threshold 'account.lost == 0' run.json",
		Args:    some("a run.json, or the directory of a run"),
		RunE: func(_ *cobra.Command, given []string) error {
			if len(slos) > 0 {
				return errext.WithExitCodeIfNone(
					fmt.Errorf("--slo is not an option; allowed: --threshold '%s'", slos[0]), wrong)
			}
			thresholds, err := parseThresholds(texts)
			if err != nil {
				return errext.WithExitCodeIfNone(err, wrong)
			}
			var results []string
			err = each(gs, given, func(path string) error {
				result, err := check(gs, path, thresholds)
				results = append(results, result)
				return err
			})
			if code := exitCode(results); err == nil && code != 0 {
				gs.OSExit(code)
			}
			return err
		},
	}
	c.Flags().StringArrayVar(&texts, "threshold", nil,
		"one more `limit`, like \"arrival.p99 < 250ms\"; may be repeated")
	c.Flags().StringArrayVar(&slos, "slo", nil, "")
	_ = c.Flags().MarkHidden("slo") // it exists
	return c
}

func parseThresholds(texts []string) (all []judge.Threshold, err error) {
	for _, text := range texts {
		threshold, err := judge.ParseThreshold(text)
		if err != nil {
			return nil, fmt.Errorf("--threshold %w", err)
		}
		all = append(all, threshold)
	}
	return all, nil
}

// check prints the result of a run with those thresholds, and a line for each rule.
func check(gs *state.GlobalState, path string, thresholds []judge.Threshold) (result string, err error) {
	r, err := runs.Read(path)
	if err != nil {
		return "", err
	}
	result, lines, err := judged(r, thresholds)
	if err != nil {
		return "", fmt.Errorf("%s: --threshold %w", path, err)
	}
	fmt.Fprintf(gs.Stdout, "%-10s  %s\n", result, words.Printable(path))
	if r.Verdict.Meaning != "" && (result == r.Verdict.Result || result != runfile.Pass) {
		fmt.Fprintf(gs.Stdout, "  %s\n", words.Printable(r.Verdict.Meaning))
	}
	for _, line := range lines {
		fmt.Fprintf(gs.Stdout, "  %s\n", words.Printable(line))
	}
	return result, nil
}

// judged judges a run with thresholds.
func judged(r *runfile.Run, thresholds []judge.Threshold) (result string, lines []string, err error) {
	var more []runfile.Rule
	replaced := map[string]string{}
	for _, threshold := range thresholds {
		rule, err := threshold.Rule(r)
		if err != nil {
			return "", nil, err
		}
		more = append(more, rule)
		if end := threshold.Replaces(); end != "" {
			replaced[end] = threshold.Text()
		}
	}
	result, lines = verdict(r, more, replaced)
	return result, lines, nil
}

// verdict returns the result of a run and a line for each rule, its own and more. A broken limit outranks an undecided
// one, which outranks one that was not judged. replaced has the threshold that stands for a built-in limit, by its
// name.
func verdict(r *runfile.Run, more []runfile.Rule, replaced map[string]string) (result string, lines []string) {
	result = judge.Without(r, slices.Collect(maps.Keys(replaced)))
	var all []runfile.Rule
	for _, rule := range r.Verdict.Rules {
		if by, ok := replaced[rule.Name]; ok {
			lines = append(lines, fmt.Sprintf("%-10s  %s, by %s", "replaced", rule.Limited(), by))
			continue
		}
		all = append(all, rule)
		lines = append(lines, line(rule))
	}
	for _, rule := range more {
		all = append(all, rule)
		lines = append(lines, line(rule))
	}
	switch {
	case slices.ContainsFunc(more, runfile.Rule.IsBroken): // judged, so the run's figure stands
		return runfile.Fail, lines
	case result != runfile.Pass:
	case slices.ContainsFunc(all, func(rule runfile.Rule) bool { return rule.Undecided }):
		return runfile.Invalid, lines
	case len(r.Verdict.Rules) == 0 || slices.ContainsFunc(all, runfile.Rule.Open):
		return runfile.Incomplete, lines
	}
	return result, lines
}

func line(rule runfile.Rule) string { return fmt.Sprintf("%-10s  %s", rule.State(), rule.Measured()) }

// exitCode is the exit code of the gravest result.
func exitCode(results []string) int {
	code := 0
	for _, result := range results {
		switch result {
		case runfile.Pass:
		case runfile.Fail:
			return notPassed
		default:
			code = undecided
		}
	}
	return code
}

// Package command is `k6 x arrival`: the commands that need no script.
package command

import (
	"bufio"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"

	"github.com/arrival-bench/arrival/extensions/k6/internal/merge"
	"github.com/arrival-bench/arrival/extensions/k6/internal/render"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runs"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
	"github.com/arrival-bench/arrival/extensions/k6/record"
)

// Name is the command's name after `k6 x`.
const Name = "arrival"

// New makes the command with its sub-commands.
func New(gs *state.GlobalState) *cobra.Command {
	root := &cobra.Command{
		Use:     Name,
		Short:   "Measure the latency from due time to arrival, and account for every message",
		Version: runfile.Version,
		Args: func(_ *cobra.Command, given []string) error {
			if len(given) > 0 {
				return errext.WithExitCodeIfNone(fmt.Errorf("k6 x %s has no command %q; --help lists them", Name, given[0]), wrong)
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(record.WrongFlag(wrong)) // of all commands that have none of their own
	plain(gs)
	root.AddCommand(
		record.New(gs),
		newMerge(gs),
		newCheck(gs),
		newRender(gs),
		newAnnotate(gs),
		newRecover(gs),
		newSpans(gs),
		newSettings(gs),
		newTry(gs),
	)
	return root
}

// plain makes errors of these commands one line each, also in a pipe or a file, where k6 would write time=… level=….
// A log format that the user sets stands, and a recorder has a log.
func plain(gs *state.GlobalState) {
	at := slices.Index(gs.CmdArgs, "x")
	own := at >= 0 && at+2 < len(gs.CmdArgs) && gs.CmdArgs[at+1] == Name && gs.CmdArgs[at+2] != "record"
	if own && gs.Flags.LogFormat == "" {
		gs.Flags.LogFormat = "raw"
		gs.Logger.SetFormatter(message{}) // errors of flags come before k6 sets its own
	}
}

// message is a log format: an entry's text, as of k6's format raw.
type message struct{}

func (message) Format(entry *logrus.Entry) ([]byte, error) { return []byte(entry.Message + "\n"), nil }

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

// Exit codes beside 0, which is a pass.
const (
	wrong     = exitcodes.ExitCode(1)               // the command, or a file that it takes
	undecided = 2                                   // no limit is broken, but one is undecided or was not judged
	notPassed = int(exitcodes.ThresholdsHaveFailed) // a limit is broken (check), or the run does not pass (merge)
)

func newMerge(gs *state.GlobalState) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "merge <directory>...",
		Short: "Merge the parts that several instances of a run have left",
		Long: `Merges the parts that several instances of a run (k6's --execution-segment) have left into one run. A directory is that of an
instance, or of a run with those of its instances in it. Counts and histograms are added exactly, and the whole run is judged.

Exit code: 0 when the run passes, 99 when it does not, 1 when the parts can't be read or are not of one run.`,
		Args: some("a directory that holds a run's instances, or theirs"),
		RunE: func(_ *cobra.Command, given []string) error {
			dir, r, err := merge.Directories(given, out)
			if err != nil {
				return errext.WithExitCodeIfNone(err, wrong)
			}
			page := words.ShortPath(filepath.Join(dir, runfile.PageName))
			fmt.Fprint(gs.Stdout, render.Text(r, page, render.NewScreen(gs.Stdout.IsTTY, gs.Flags.NoColor)))
			if r.Verdict.Result != runfile.Pass {
				gs.OSExit(notPassed)
			}
			return nil
		},
	}
	c.Flags().StringVar(&out, "out", "",
		"directory of the merged run (default: the directory that holds the instances' directories)")
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

func newRender(gs *state.GlobalState) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "render <run.json|directory>...",
		Short: "Write the pages of runs again",
		Long: `Writes the page of each run from its run.json, as index.html beside it, and prints its path. The page is one file and loads nothing.

Exit code: 0 when all pages are written, 1 when one is not: a file is not a valid run, or the page can't be written.`,
		Example: "  k6 x arrival render reports/runs/smoke-single-loopback-20260131T120000Z\n" +
			"  k6 x arrival render run.json --out report.html",
		Args: some("a run.json, or the directory of a run"),
		RunE: func(_ *cobra.Command, given []string) error {
			if out != "" && len(given) > 1 {
				return errext.WithExitCodeIfNone(errors.New("--out is the page of one run, and there are more"), wrong)
			}
			return each(gs, given, func(path string) error {
				page, err := renderPage(path, out)
				if err == nil {
					fmt.Fprintln(gs.Stdout, words.Printable(words.ShortPath(page)))
				}
				return err
			})
		},
	}
	c.Flags().StringVar(&out, "out", "", "file of the page, for a single run (default: index.html beside its run.json)")
	return c
}

func renderPage(path, out string) (page string, err error) {
	run, err := runs.Load(path)
	if err != nil {
		return "", err
	}
	if page = out; page == "" {
		page = filepath.Join(runfile.DirectoryOf(path), runfile.PageName)
	}
	return page, runfile.Replace(page, func(w *bufio.Writer) error { return render.RenderPage(w, run) })
}

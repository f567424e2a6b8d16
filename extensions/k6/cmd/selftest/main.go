// Command selftest measures the instrument against known truths: it runs the built k6 against a pipeline that does
// exactly what it is configured to do, and compares that with run.json. See usage.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
)

const usage = `Measures the instrument against known truths: a pipeline that delays, holds, freezes, drops, duplicates, swaps, keeps
and invents messages, and whose clock is wrong, exactly as configured. Prints what was expected beside what k6 measured of it.

  npm run selftest [-- [--short] [--only WORD] [--serve] [--mutants]]

  --short      fewer and shorter cases, with tolerances for a machine that does other things too
  --only WORD  only the cases whose names contain WORD
  --serve      runs no k6: serves the pipeline of the case until Ctrl-C, for any load generator
  --mutants    breaks the instrument on purpose, one change after the other, and demands that a truth sees each; --only
               chooses among the changes then
  --k6 FILE    the k6 to test (k6)

The cases named bounds prove the verdict: pipelines whose arrival p99 is known, limits around it, and a load generator
that is disturbed. Each of their lines says whether a punctual load generator finds the limit held or broken, and what
the verdict makes of it: a limit may be undecided, and must not be decided wrongly.

A run may report that its generator was late or out of CPU, or that its clock bound is too wide. Then a case whose times are
wrong is repeated, at most twice. Times that are still wrong are open: they depend on the machine. A wrong count or verdict
is never repeated and never open.

The exit code is 0 when every line holds (with --short also when some are open), 1 when one does not, 2 when nothing ran.
With --mutants, about 5 minutes on two cores, it is 1 when a change stays unseen.
`

//go:embed selftest.js
var script []byte

const (
	allHold = iota
	notAll
	notTested
	interrupted = 128 + int(syscall.SIGINT)
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code, err := selftest(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "selftest  "+err.Error())
	}
	os.Exit(code)
}

func selftest(ctx context.Context, args []string) (int, error) {
	flags := flag.NewFlagSet("selftest", flag.ContinueOnError)
	flags.Usage = func() {}
	flags.SetOutput(io.Discard)
	isShort := flags.Bool("short", false, "")
	only := flags.String("only", "", "")
	serving := flags.Bool("serve", false, "")
	breaking := flags.Bool("mutants", false, "")
	k6 := flags.String("k6", "k6", "")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(usage)
		return allHold, nil
	case err != nil:
		return notTested, fmt.Errorf("%w; see --help", err)
	case flags.NArg() > 0:
		return notTested, fmt.Errorf("%q is not an option; see --help", flags.Arg(0))
	}
	if *breaking {
		return breakAll(ctx, *k6, *only)
	}
	f, atOnce := full, 1
	if *isShort {
		f, atOnce = short, 2
	}
	selected := selectCases(f, *only)
	if len(selected) == 0 {
		return notTested, fmt.Errorf("--only %q: no case is named like that", *only)
	}
	if *serving {
		if len(selected) > 1 {
			return notTested, fmt.Errorf("--serve serves one case, and --only %q matches %d", *only, len(selected))
		}
		return allHold, serve(ctx, selected[0].pipelines[0](), os.Stdout)
	}

	dir, err := runsDir()
	if err != nil {
		return notTested, err
	}
	keep := false
	defer func() {
		if !keep {
			_ = os.RemoveAll(dir)
		}
	}()
	in, err := prepare(*k6, dir)
	if err != nil {
		return notTested, err
	}
	began := time.Now()
	answers := boundsAnswers{}
	fmt.Print(head())
	hold, open, total := 0, 0, 0
	for r := range runAll(ctx, in, f, selected, atOnce, dir) {
		if ctx.Err() != nil {
			return interrupted, errors.New("stopped")
		}
		for _, line := range r.rows {
			total++
			answers.add(line)
			switch {
			case line.ok:
				hold++
			case line.open():
				open++
			}
		}
		fmt.Print(r.text(f))
	}
	fmt.Print(answers.text())
	if keep = hold+open < total || open > 0 && f == full; keep {
		fmt.Printf("\nwhat the runs left: %s\n", dir)
	}
	undecided := ""
	if open > 0 {
		undecided = fmt.Sprintf("%d are open (the machine delayed the generator: a less busy one decides them), ", open)
	}
	fmt.Printf("\n%d of %d hold, %sin %.0f s\n", hold, total, undecided, time.Since(began).Seconds())
	if keep {
		return notAll, nil
	}
	return allHold, nil
}

func selectCases(f form, word string) (selected []*testCase) {
	all := allCases()
	for i := range all {
		if c := &all[i]; c.seconds[f] > 0 && strings.Contains(c.name, word) && (!c.onLinux || runtime.GOOS == "linux") {
			selected = append(selected, c)
		}
	}
	return selected
}

// runsDir makes a directory for what the runs leave.
func runsDir() (string, error) {
	dir, err := os.MkdirTemp("", "arrival-selftest-")
	if err != nil {
		return "", fmt.Errorf("a directory for the runs can't be made: %w", err)
	}
	return dir, nil
}

// prepare finds the k6 to test and writes the script into dir.
func prepare(k6, dir string) (in instrument, err error) {
	if in.k6, err = filepath.Abs(k6); err != nil {
		return in, err
	}
	if _, err := os.Stat(in.k6); err != nil {
		return in, fmt.Errorf("k6 is not built (%s): npm run setup builds it", in.k6)
	}
	in.script = filepath.Join(dir, "selftest.js")
	return in, os.WriteFile(in.script, script, 0o644)
}

// serve runs a pipeline alone until ctx ends. It prints the addresses first and the number of requests last.
func serve(ctx context.Context, f *fake.Pipeline, out io.Writer) error {
	if err := f.Start(); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "INGEST_URL=%s MQTT_URL=%s\n", f.IngestURL(), f.MQTTURL()); err != nil {
		return err
	}
	<-ctx.Done()
	if _, err := fmt.Fprintf(out, "%d requests\n", f.Requests()); err != nil {
		return err
	}
	return f.Close()
}

type result struct {
	testCase *testCase
	rows     []row
	repeated []string // the reason for each repetition
	done     chan struct{}
}

// runAll runs up to atOnce cases at a time and yields the results in order. It returns when all cases have ended.
func runAll(
	ctx context.Context, in instrument, f form, selected []*testCase, atOnce int, dir string,
) iter.Seq[*result] {
	results := make([]*result, len(selected))
	for i, c := range selected {
		results[i] = &result{testCase: c, done: make(chan struct{})}
	}
	go func() {
		slots := make(chan struct{}, atOnce)
		for _, r := range results {
			slots <- struct{}{}
			go func() {
				if ctx.Err() == nil {
					run := func(attempt int) (*outcome, error) {
						return r.testCase.run(ctx, in, f, r.testCase.attemptDir(dir, attempt))
					}
					r.rows = r.testCase.try(run, func(why string) { r.repeated = append(r.repeated, why) })
				}
				close(r.done)
				<-slots
			}()
		}
	}()
	return func(yield func(*result) bool) {
		stopped := false
		for _, r := range results {
			<-r.done
			stopped = stopped || !yield(r)
		}
	}
}

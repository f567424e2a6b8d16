// Command bench is npm run bench: it runs the benchmarks of this folder, which measure programs as ratios to named
// baselines, and has benchstat compute each ratio with its confidence interval.
package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type settings struct {
	only     string
	warmup   time.Duration
	duration time.Duration
	rounds   int // 0: each row has its own number
	rate     int // requests per second through the real pipeline
	messages int // messages of the row memory
	profiles string
}

const help = `Measures speed as ratios against named baselines, in one run. The exit code is 1 when one is missed.

  npm run bench [-- <options>]

Rows
`

func parse(args []string) (settings, error) {
	var s settings
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(os.Stdout)
	f.StringVar(&s.only, "only", "", "`rows` to run, with commas between them (default all)")
	f.DurationVar(&s.warmup, "warmup", 1500*time.Millisecond, "load before each measurement")
	f.DurationVar(&s.duration, "duration", 5*time.Second, "length of each measurement")
	f.IntVar(&s.rounds, "rounds", 0, "`times` that both sides are measured, in turn (default 12 for measuring and "+
		"spans, 7 for pump, 6 for others: an interval takes 6; 1 for memory)")
	f.IntVar(&s.rate, "rate", 5000, "measuring, spans, peer: `requests` per second")
	f.IntVar(&s.messages, "messages", 5_000_000, "memory: `messages` measured")
	f.StringVar(&s.profiles, "profiles", "",
		"`directory` for CPU profiles of our sides, go tool pprof reads them (takes CPU itself)")
	f.Usage = func() {
		fmt.Print(help)
		for _, r := range rows {
			fmt.Printf("  %-12s%s\n", r.name, r.what)
		}
		fmt.Print("\nOptions\n")
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		return s, err
	}
	switch {
	case f.NArg() > 0:
		return s, fmt.Errorf("%q is not an option; npm run bench -- --help lists them", f.Arg(0))
	case s.duration < time.Second:
		return s, fmt.Errorf("--duration %s is below 1s", s.duration)
	case s.warmup < 0:
		return s, fmt.Errorf("--warmup %s is below 0", s.warmup)
	case s.rounds < 0 || s.rate < 1 || s.messages < 1:
		return s, errors.New("--rounds, --rate and --messages are 1 or more")
	}
	return s, nil
}

func choose(only string) ([]row, error) {
	if only == "" {
		return rows, nil
	}
	var chosen []row
	for name := range strings.SplitSeq(only, ",") {
		at := slices.IndexFunc(rows, func(r row) bool { return r.name == name })
		if at < 0 {
			return nil, fmt.Errorf("--only %q is not a row; npm run bench -- --help lists them", name)
		}
		chosen = append(chosen, rows[at])
	}
	return chosen, nil
}

func main() {
	s, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench  "+err.Error())
		os.Exit(1)
	}
}

const (
	folder = "extensions/k6/cmd/bench"
	// benchmarks is the program that go test -c makes of this folder.
	benchmarks = ".stack/bench.test"
	// results has their output, for benchstat.
	results = ".stack/bench.txt"
	// benchstat's version is one that the module proxy serves.
	benchstat = "golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da"
)

func run(s settings) error {
	chosen, err := choose(s.only)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	out, err := os.Create(results)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	if _, err := summarize(ctx); err != nil { // without benchstat half an hour of measuring would be lost
		return err
	}
	for _, r := range chosen {
		if err := r.measure(ctx, s.rounds, out); err != nil {
			return err
		}
	}
	medians, err := summarize(ctx)
	if err != nil {
		return err
	}
	text, hold, err := table(chosen, medians)
	fmt.Print(text)
	if err != nil {
		return err
	}
	if !hold {
		return errors.New("a ratio was missed")
	}
	return nil
}

// measure runs the benchmark of a row in a process of its own. -test.count is the number of rounds.
func (r row) measure(ctx context.Context, rounds int, out io.Writer) error {
	if rounds == 0 {
		rounds = r.rounds
	}
	binary, err := filepath.Abs(benchmarks)
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, binary, append([]string{
		"-test.run", "^$", "-test.bench", "^Benchmark" + r.title() + "$", "-test.benchtime", "1x",
		"-test.count", fmt.Sprint(rounds), "--",
	}, os.Args[1:]...)...)
	c.Dir = folder
	c.Stdout, c.Stderr = io.MultiWriter(out, os.Stderr), os.Stderr
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) } // it stops what it has started
	err = c.Run()
	if ctx.Err() != nil {
		return errors.New("stopped; all that it had started is stopped too")
	}
	if err != nil {
		return fmt.Errorf("%s: %w (npm run setup -- --bench installs what is needed)", r.name, err)
	}
	return nil
}

// summarize returns benchstat's medians by benchmark and unit.
func summarize(ctx context.Context) (map[string]median, error) {
	c := exec.CommandContext(ctx, "go", "run", benchstat, "-format", "csv", results)
	var stderr bytes.Buffer
	c.Stderr = &stderr // it warns of each row that has too few rounds for an interval
	text, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("benchstat: %w\n%s", err, stderr.String())
	}
	return medians(text)
}

// medians reads benchstat's CSV: a table for each unit, with the unit in its head and a line for each benchmark.
func medians(text []byte) (map[string]median, error) {
	reader := csv.NewReader(bytes.NewReader(text))
	reader.FieldsPerRecord = -1
	lines, err := reader.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("benchstat: %w", err)
	}
	all, unit := map[string]median{}, ""
	for _, line := range lines {
		if len(line) != 3 {
			continue
		}
		name := line[0]
		if i := strings.IndexAny(name, "/-"); i >= 0 { // the sub-benchmark's name or the number of cores follows
			name = name[:i]
		}
		if name == "" && line[2] == "CI" {
			unit = line[1]
		}
		value, err := strconv.ParseFloat(line[1], 64)
		if err == nil {
			all[name+" "+unit] = median{value, line[2]}
		}
	}
	return all, nil
}

// Command bench is npm run bench: it measures the project's speed as ratios, each against a named baseline in the
// same run. It counts the CPU of the measured process only, not that of its peers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
)

type settings struct {
	only     string
	warmup   time.Duration
	duration time.Duration
	rounds   int
	rate     int // requests per second through the real pipeline
	messages int // in the row memory
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
	f.IntVar(&s.rounds, "rounds", 12, "measuring: `times` that both sides are measured, in turn")
	f.IntVar(&s.rate, "rate", 5000, "measuring, peer: `requests` per second")
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
		return s, fmt.Errorf("%q is no option; npm run bench -- --help lists them", f.Arg(0))
	case s.duration < time.Second:
		return s, fmt.Errorf("--duration %s is below 1s", s.duration)
	case s.warmup < 0:
		return s, fmt.Errorf("--warmup %s is below 0", s.warmup)
	case s.rounds < 1 || s.rate < 1 || s.messages < 1:
		return s, errors.New("--rounds, --rate and --messages are 1 or more")
	}
	return s, nil
}

// row is one line of the table, or several that are measured at once.
type row struct {
	name, what string
	run        func(*bench) []figure
}

var rows = []row{
	{"subscriber", "CPU a message of k6 with the native subscriber, against a handler in JavaScript", subscriber},
	{"websocket", "CPU a message of k6 with the native WebSocket receiver, against k6/websockets and run.arrived()",
		webSocket},
	{"sender", "CPU a request of run.send(), against k6/http", sender},
	{"pump", "CPU a request of run.pump(), against wrk", pump},
	{"measuring", "messages a CPU second of the pipeline, every message measured, against none", measuring},
	{"spans", "CPU a message of the pipeline with spans of one message in a hundred, against without", sampled},
	{"peer", "CPU a message of all processes and k6's subscriber, against a plain Go pipeline", compared},
	{"pace", "arrival p99 and rate with the cores full, PRIORITY=drain and throttled, against PRIORITY=none", pace},
	{"memory", "resident memory of k6 after millions of measured messages, against what is allowed", memory},
}

func choose(only string) ([]row, error) {
	if only == "" {
		return rows, nil
	}
	var chosen []row
	for name := range strings.SplitSeq(only, ",") {
		at := slices.IndexFunc(rows, func(r row) bool { return r.name == name })
		if at < 0 {
			return nil, fmt.Errorf("--only %q is no row; npm run bench -- --help lists them", name)
		}
		chosen = append(chosen, rows[at])
	}
	return chosen, nil
}

func main() {
	if args := os.Args[1:]; len(args) == 5 && args[0] == peerRole {
		fmt.Fprintln(os.Stderr, peerProcess(args[1], args[2], args[3], args[4]))
		os.Exit(1)
	}
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

func run(s settings) error {
	chosen, err := choose(s.only)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	var b *bench
	if err := must.Try(func() { b = newBench(ctx, s) }); err != nil {
		return err
	}
	defer b.close()

	var figures []figure
	for _, r := range chosen {
		b.row = r.name
		err := must.Try(func() {
			for _, f := range r.run(b) {
				f.row = strings.TrimSuffix(r.name+", "+f.row, ", ")
				figures = append(figures, f)
			}
		})
		b.stopAll()
		if ctx.Err() != nil {
			return errors.New("stopped; all that it had started is stopped too")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	fmt.Print(table(figures))
	if slices.ContainsFunc(figures, func(f figure) bool { return !f.holds() }) {
		return errors.New("a ratio was missed")
	}
	return nil
}

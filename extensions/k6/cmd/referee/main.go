// Command referee is a server whose behaviour is scripted, and whose own record is the truth that load generators are
// compared with. See usage.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/arrival-bench/arrival/extensions/k6/internal/truth"
)

const usage = `A server that answers by a script, for load generators whose figures are compared with what it did.

  referee truths   prints what the server can do, as JSON
  referee serve --truth NAME --rate R --seconds S [--connections N]

serve prints its address, {"address":"127.0.0.1:PORT"}, answers until it gets SIGTERM or SIGINT, and prints the record
of what it did as one line of JSON. The script's time begins with the first request.

  --truth NAME     what the server does
  --rate R         how many requests/s the load generator is asked for
  --seconds S      for how long
  --connections N  on how many connections (20)

The exit code is 0, or 1 after an error.
`

// most is how many requests a load may have: the record keeps each of them.
const most = 10_000_000

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := referee(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "referee  "+err.Error())
		os.Exit(1)
	}
}

func referee(ctx context.Context, args []string, out io.Writer) error {
	command := ""
	if len(args) > 0 {
		command = args[0]
	}
	switch command {
	case "truths":
		return json.NewEncoder(out).Encode(truth.All)
	case "serve":
		t, l, err := options(args[1:])
		if errors.Is(err, flag.ErrHelp) {
			break
		}
		if err != nil {
			return err
		}
		return serve(ctx, t, l, out)
	case "-h", "-help", "--help":
	default:
		return fmt.Errorf("%q is not a command: there are truths and serve; see --help", command)
	}
	_, err := io.WriteString(out, usage)
	return err
}

func options(args []string) (t truth.Truth, l truth.Load, err error) {
	flags := flag.NewFlagSet("referee", flag.ContinueOnError)
	flags.Usage = func() {}
	flags.SetOutput(io.Discard)
	name := flags.String("truth", "", "")
	flags.Float64Var(&l.Rate, "rate", 0, "")
	flags.Float64Var(&l.Seconds, "seconds", 0, "")
	flags.IntVar(&l.Connections, "connections", 20, "")
	if err = flags.Parse(args); err != nil {
		return t, l, err
	}
	switch requests := l.Rate * l.Seconds; {
	case flags.NArg() > 0:
		return t, l, fmt.Errorf("%q is not an option; see --help", flags.Arg(0))
	case !(l.Rate > 0 && l.Seconds > 0):
		return t, l, errors.New("--rate (requests/s) and --seconds must be above 0")
	case !(requests <= most):
		return t, l, fmt.Errorf("--rate for --seconds is %.0f requests; at most %d are allowed", requests, most)
	case l.Connections < 1:
		return t, l, fmt.Errorf("--connections %d: there must be at least 1", l.Connections)
	}
	t, err = truth.Find(*name)
	if err != nil {
		err = fmt.Errorf("--truth: %w", err)
	}
	return t, l, err
}

// serve runs the server until ctx ends. It prints the address first and the record last.
func serve(ctx context.Context, t truth.Truth, l truth.Load, out io.Writer) error {
	s, err := truth.Listen(t, l)
	if err != nil {
		return fmt.Errorf("the server can't listen: %w", err)
	}
	to := json.NewEncoder(out)
	if err := to.Encode(map[string]string{"address": s.Address()}); err != nil {
		return err
	}
	if err := s.Serve(ctx); err != nil {
		return fmt.Errorf("the server failed: %w", err)
	}
	return to.Encode(s.Record())
}

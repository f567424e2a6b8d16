// Package record is `k6 x arrival record`: it lets another program send the requests of a run, over lines of JSON, and
// measures them with the instrument of k6/x/arrival.
package record

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"
)

const help = `Records a run whose requests another program sends, with the schedule, account, clock, subscriber and verdict of k6/x/arrival.

The program writes JSON objects to standard input, one a line, and reads the answers from standard output:

  {"options": {"profile": "phases: [{duration: 5, arrivalRate: 100}]\nflows: [{name: direct}]",
               "ingest": {"url": "http://127.0.0.1:8080"}, "mqtt": {"url": "mqtt://127.0.0.1:1883"}}}
                                         → {"ready": {"run": "7kq2m0xz", "directory": "reports/runs/…", "requests": 500, …}}
  {"start": true}                        → {"started": {"epoch_us": 81234567890}}
  {"next": 100}                          → {"slots": [{"n": 0, "due_us": 81234567890, "path": "/messages", "body": "{…}", …}, …]}
  {"sent": 0, "at_us": 81234567901}        when the request leaves
  {"settled": 0, "at_us": 81234569313, "status": 202}
  {"end": true}                          → {"summary": "…", "verdict": {…}, "account": {…}, "exit": 0, …}

Times are µs of the host's monotonic clock: Python's time.monotonic_ns() // 1000, Node's process.hrtime.bigint() / 1000n.
The options are those of new Run(), with "limits": {"arrival_p99": ["value<250"]} and "tool": {"name": "…", "version": "…"}.
The exit code is 0 if the run passed, 99 if it did not, 104 if it could not be prepared, 105 if it was cut off.
extensions/k6/README.md has every line, and examples/record.py is a program of 60 lines.`

// New makes the command.
func New(gs *state.GlobalState) *cobra.Command {
	var socket string
	c := &cobra.Command{
		Use:     "record",
		Short:   "Record a run whose requests another program sends",
		Long:    help,
		Example: "  python3 extensions/k6/examples/record.py profile.yml",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			signal.Ignore(syscall.SIGPIPE) // a caller that closes its end must not stop us before the report is written
			ctx, stop := untilSignal(gs)
			defer stop()
			in, out, err := io.Reader(gs.Stdin), io.Writer(gs.Stdout), error(nil)
			if socket != "" {
				conn, err := acceptOne(ctx, socket)
				if err != nil {
					return errext.WithExitCodeIfNone(err, exitcodes.InvalidConfig)
				}
				defer conn.Close()
				in, out = conn, conn
			}
			code, err := newRecording(out, os.Getppid(), gs.Logger).record(ctx, in)
			return errext.WithExitCodeIfNone(err, code)
		},
	}
	c.Flags().StringVar(&socket, "socket", "",
		"path of a Unix socket to listen on, instead of standard input and output; one caller connects")
	return c
}

// untilSignal returns a context that ends with SIGINT and SIGTERM. A second one ends the process.
func untilSignal(gs *state.GlobalState) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(gs.Ctx)
	signals := make(chan os.Signal, 1)
	gs.SignalNotify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
			gs.SignalStop(signals)
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		gs.SignalStop(signals)
		cancel()
	}
}

// acceptOne accepts the caller on a socket, then removes the socket.
func acceptOne(ctx context.Context, path string) (net.Conn, error) {
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("--socket: %w", err)
	}
	defer listener.Close()
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	conn, err := listener.Accept()
	if err != nil {
		return nil, fmt.Errorf("--socket: no client connected: %w", err)
	}
	return conn, nil
}

// Package record is `k6 x arrival record`: it lets another program send the requests of a run, over lines of JSON, and
// measures them with the instrument of k6/x/arrival.
package record

import (
	"context"
	_ "embed" // help.txt
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

//go:embed help.txt
var help string

// WrongFlag gives errors of a command's flags an exit code, where k6 would exit with 255.
func WrongFlag(code exitcodes.ExitCode) func(*cobra.Command, error) error {
	return func(_ *cobra.Command, err error) error {
		return errext.WithExitCodeIfNone(fmt.Errorf("%w; --help lists the flags", err), code)
	}
}

// New makes the command.
func New(gs *state.GlobalState) *cobra.Command {
	var socket string
	c := &cobra.Command{
		Use:     "record",
		Short:   "Record a run whose requests another program sends",
		Long:    help,
		Example: "  python3 extensions/k6/examples/record.py profile.yml",
		Args: func(_ *cobra.Command, given []string) error {
			if len(given) > 0 {
				return errext.WithExitCodeIfNone(fmt.Errorf("record takes no %q: its input is standard input, or --socket; --help "+
					"says more", given[0]), exitcodes.InvalidConfig)
			}
			return nil
		},
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
	c.SetFlagErrorFunc(WrongFlag(exitcodes.InvalidConfig))
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

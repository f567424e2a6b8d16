package command

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// RunChild runs a command, passes signals on to it, and returns its exit code. An error says why it has none; the code
// is 1 then.
func RunChild(child *exec.Cmd) (code int, err error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := child.Start(); err != nil {
		return 1, err
	}
	done := make(chan error, 1)
	go func() { done <- child.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = child.Process.Signal(s) // it may have ended
		case err := <-done:
			var exited *exec.ExitError
			switch {
			case err == nil:
				return 0, nil
			case errors.As(err, &exited) && exited.ExitCode() >= 0:
				return exited.ExitCode(), nil
			}
			return 1, err
		}
	}
}

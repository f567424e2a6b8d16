package test

import (
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAProcessIsStoppedAtTheEndOfItsTest(t *testing.T) {
	t.Parallel()
	var p *Process
	t.Run("starts it", func(t *testing.T) { p = StartProcess(t, exec.Command("sleep", "3600")) })
	<-p.Done
	assert.ErrorContains(t, p.Failure(), "sleep: signal: terminated")
}

func TestAProcessThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	err := StartProcess(t, exec.Command("sh", "-c", "echo not today; exit 3")).Wait(t.Context())
	require.ErrorContains(t, err, "exit status 3\nnot today")
	p := StartProcess(t, exec.Command("sh", "-c", "exit 110"))
	assert.NoError(t, p.Wait(t.Context(), 110), "an exit code that is allowed")
}

// The killed test is this one, in a process of its own. What it starts holds the end of a pipe until it ends.
func TestAKilledTestLeavesNoProcess(t *testing.T) {
	t.Parallel()
	const killed = "TEST_TO_KILL"
	if os.Getenv(killed) != "" {
		pipe, left := os.NewFile(3, "pipe"), exec.Command("sleep", "3600")
		left.ExtraFiles = []*os.File{pipe}
		p := StartProcess(t, left)
		_, _ = pipe.WriteString("started\n")
		<-p.Done
		return
	}
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _ = read.Close() }()
	self, err := os.Executable()
	require.NoError(t, err)
	test := exec.Command(self, "-test.run", "^"+t.Name()+"$")
	test.Env = append(os.Environ(), killed+"=yes")
	test.ExtraFiles = []*os.File{write}
	require.NoError(t, test.Start())
	require.NoError(t, write.Close())
	started := make([]byte, len("started\n"))
	_, err = io.ReadFull(read, started)
	require.NoError(t, err)
	require.NoError(t, test.Process.Kill())
	_ = test.Wait()
	_, err = io.ReadAll(read)
	assert.NoError(t, err, "the pipe ends with the process")
}

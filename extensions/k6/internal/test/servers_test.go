package test

import (
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

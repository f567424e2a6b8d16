//go:build unix

package runfile

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAPipeIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{FileName, TimelineName, LogName} {
		require.NoError(t, syscall.Mkfifo(filepath.Join(dir, name), 0o600))
	}
	_, err := Load(dir)
	assert.ErrorContains(t, err, "is not a plain file (p")
	_, err = ReadTimeline(dir)
	assert.ErrorContains(t, err, "is not a plain file (p")
	_, err = OpenLog(dir)
	assert.ErrorContains(t, err, "is not a plain file (p")
}

func TestNoSocketDeviceOrLoopIsRead(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "r") // a socket's path may have about a hundred bytes
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, FileName)
	socket, err := net.Listen("unix", path)
	require.NoError(t, err)
	_, err = Load(path)
	assert.ErrorContains(t, err, "is not a plain file (S")
	require.NoError(t, socket.Close())
	require.NoError(t, os.Symlink(path, path))
	_, err = Load(path)
	assert.ErrorContains(t, err, "is not a plain file (L")
	for _, device := range []string{"/dev/zero", "/dev/full", "/dev/tty"} {
		if _, err := os.Stat(device); err == nil {
			_, err = Load(device)
			assert.Error(t, err, device)
		}
	}
}

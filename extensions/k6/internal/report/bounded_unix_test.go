//go:build unix

package report

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
	assert.ErrorContains(t, err, "is no plain file (p")
	_, err = ReadTimeline(dir)
	assert.ErrorContains(t, err, "is no plain file (p")
	_, err = OpenLog(dir)
	assert.ErrorContains(t, err, "is no plain file (p")
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
	assert.ErrorContains(t, err, "is no plain file (S")
	require.NoError(t, socket.Close())
	require.NoError(t, os.Symlink(path, path))
	_, err = Load(path)
	assert.ErrorContains(t, err, "is no plain file (L")
	for _, device := range []string{"/dev/zero", "/dev/full", "/dev/tty"} {
		if _, err := os.Stat(device); err == nil {
			_, err = Load(device)
			assert.Error(t, err, device)
		}
	}
}

// Regression: render and annotate waited for a pipe at the place of the next file, and wrote through a link there.
func TestTheNextFileIsNeitherPipeNorLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, other := filepath.Join(dir, PageName), filepath.Join(dir, "other")
	require.NoError(t, os.WriteFile(other, []byte("kept"), 0o600))
	for name, make := range map[string]func(string) error{
		"pipe": func(next string) error { return syscall.Mkfifo(next, 0o600) },
		"link": func(next string) error { return os.Symlink(other, next) },
	} {
		require.NoError(t, make(path+".next"), name)
		require.NoError(t, Replace(path, put([]byte(name))), name)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, name, string(text))
	}
	text, err := os.ReadFile(other)
	require.NoError(t, err)
	assert.Equal(t, "kept", string(text))
}

// Regression: the run had the figures, and annotate ended with an error because of summary.md. A second try was
// refused.
func TestAnnotateChangesNothingWhereASummaryIsAPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text, err := os.ReadFile(reports + "testdata/passing.json")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, FileName), text, 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, MarkdownName), 0o600))
	assert.ErrorContains(t, Annotate(dir, Campaign{Figures: []Figure{{Name: "x"}}}, ""), "is no plain file (p")
	after, err := os.ReadFile(filepath.Join(dir, FileName))
	require.NoError(t, err)
	assert.Equal(t, string(text), string(after))
}

//go:build unix

package render

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Regression: render and annotate waited for a pipe at the place of the next file, and wrote through a link there.
func TestTheNextFileIsNeitherPipeNorLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, other := filepath.Join(dir, runfile.PageName), filepath.Join(dir, "other")
	require.NoError(t, os.WriteFile(other, []byte("kept"), 0o600))
	for name, make := range map[string]func(string) error{
		"pipe": func(next string) error { return syscall.Mkfifo(next, 0o600) },
		"link": func(next string) error { return os.Symlink(other, next) },
	} {
		require.NoError(t, make(path+".next"), name)
		require.NoError(t, runfile.Replace(path, put([]byte(name))), name)
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
	require.NoError(t, os.WriteFile(filepath.Join(dir, runfile.FileName), text, 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, runfile.MarkdownName), 0o600))
	assert.ErrorContains(t, Annotate(dir, runfile.Campaign{Figures: []runfile.Figure{{Name: "x"}}}, ""),
		"is not a plain file (p")
	after, err := os.ReadFile(filepath.Join(dir, runfile.FileName))
	require.NoError(t, err)
	assert.Equal(t, string(text), string(after))
}

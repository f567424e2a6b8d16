//go:build unix

package traces

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Regression: a merge waited for a pipe.
func TestAPipeInPlaceOfTracesIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, FileName), 0o600))
	assert.ErrorContains(t, Join([]string{dir}, t.TempDir()), "is not a plain file (p")
}

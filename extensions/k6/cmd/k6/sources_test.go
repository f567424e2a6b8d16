package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHashCoversOnlyFilesOfTheBuild(t *testing.T) {
	t.Parallel()
	tree := func(change map[string]string) string {
		files := map[string]string{"go.mod": "module x", "a/a.go": "package a", "a/a_test.go": "package a",
			"a.d.ts": "x"}
		for name, content := range change {
			files[name] = content
		}
		m := fstest.MapFS{}
		for name, content := range files {
			m[name] = &fstest.MapFile{Data: []byte(content)}
		}
		h, err := hashSources(m)
		require.NoError(t, err)
		return h
	}
	same := tree(nil)
	// printf 'a/a.go\0package a\0go.mod\0module x\0' | sha256sum
	assert.Equal(t, "1c768262ffe25e5279c3dfb3820740043635b90eb5e0eac5f89d5883c077bed8", same)
	assert.Equal(t, same, tree(map[string]string{"a/a_test.go": "package b", "a.d.ts": "y"}))
	assert.NotEqual(t, same, tree(map[string]string{"a/a.go": "package b"}))
	assert.NotEqual(t, same, tree(map[string]string{"b.go": ""}))
	assert.NotEqual(t, same, tree(map[string]string{"go.sum": ""}))
	assert.NotEqual(t, same, tree(map[string]string{"a/page.gen.html": ""}))
}

// Regression: npm run setup and ./k6 itself took a binary with the old static page for a fresh one.
func TestEmbeddedFilesAreSources(t *testing.T) {
	t.Parallel()
	const format = `{{with .Module}}{{if .Main}}{{range $.EmbedFiles}}{{.}}{{"\n"}}{{end}}{{end}}{{end}}`
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", format, "./cmd/k6")
	list.Dir = "../.."
	out, err := list.Output()
	require.NoError(t, err)
	names := strings.Fields(string(out))
	assert.NotEmpty(t, names)
	for _, name := range names {
		assert.True(t, isSource(filepath.Base(name)), name)
	}
}

func TestAStaleBinaryIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	binary := filepath.Join(dir, "k6")
	require.NoError(t, checkSources(binary, "abc"), "no sources beside the binary")
	tree := filepath.Join(dir, sourceFolder)
	require.NoError(t, os.MkdirAll(tree, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(tree, "go.mod"), []byte("module x"), 0o600))
	hash, err := hashSources(os.DirFS(tree))
	require.NoError(t, err)
	require.NoError(t, checkSources(binary, hash))
	require.NoError(t, checkSources(binary, ""), "built by hand")
	require.NoError(t, os.WriteFile(filepath.Join(tree, "go.mod"), []byte("module y"), 0o600))
	assert.ErrorContains(t, checkSources(binary, hash),
		"is stale: it was built from other sources than extensions/k6 holds now; build it with: npm run setup")
}

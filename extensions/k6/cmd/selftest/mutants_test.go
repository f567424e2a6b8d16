package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A mutant whose text has changed in the source would change nothing.
func TestEachMutantFindsItsText(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, m := range mutants {
		assert.False(t, names[m.name], m.name)
		names[m.name] = true
		original, err := os.ReadFile(filepath.Join("../..", m.file))
		require.NoError(t, err, m.name)
		changed, err := m.source("../..")
		require.NoError(t, err)
		assert.NotEqual(t, original, changed, m.name)
		c := caseNamed(m.in)
		if assert.NotNil(t, c, m.name) {
			assert.Positive(t, c.seconds[short], "%s: %s is not in the short form", m.name, m.in)
		}
	}
}

func TestAMutantWithoutItsTextIsRefused(t *testing.T) {
	t.Parallel()
	module := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(module, "a.go"), []byte("x := 1\nx := 1\n"), 0o600))
	_, err := mutant{name: "gone", file: "a.go", from: "y := 1", to: "y := 2"}.source(module)
	assert.ErrorContains(t, err, `the mutant "gone" changes a text that is 0 times in`)
	_, err = mutant{name: "twice", file: "a.go", from: "x := 1", to: "x := 2"}.source(module)
	assert.ErrorContains(t, err, "is 2 times in")
	_, err = mutant{name: "moved", file: "b.go"}.source(module)
	assert.ErrorContains(t, err, `the mutant "moved"`)
}

func TestOnlyAKnownMutantIsChosen(t *testing.T) {
	t.Parallel()
	code, err := selftest(t.Context(), []string{"--mutants", "--only", "xyz"})
	assert.Equal(t, notTested, code)
	assert.ErrorContains(t, err, `--only "xyz": no mutant`)
}

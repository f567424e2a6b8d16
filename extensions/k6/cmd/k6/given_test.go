package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestGivenListsVariablesSetByFlags(t *testing.T) {
	t.Parallel()
	args := []string{"k6", "run", "-e", "A=1", "--env", "B=2=3", "--env=C=4", "-eD=5", "-e=F=7", "--tag", "E=6", "-q",
		"script.js", "-e"}
	// regression: F was missing, so a misspelt name had no error
	assert.Equal(t, []string{"A", "B", "C", "D", "F"}, given(args))
}

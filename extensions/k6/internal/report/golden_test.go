package report

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

var updateGoldens = flag.Bool("goldens", false, "update what is derived from the golden runs")

// golden reads a committed run.
func golden(t *testing.T, name string) *Run {
	t.Helper()
	text, err := os.ReadFile(reports + "testdata/" + name + ".json")
	require.NoError(t, err)
	r, err := decode(text)
	require.NoError(t, err)
	return r
}

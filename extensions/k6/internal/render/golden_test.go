package render

import (
	"flag"
	"testing"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/stretchr/testify/require"
)

var updateGoldens = flag.Bool("goldens", false, "update what is derived from the golden runs")

const reports = "../../../../reports/"

// golden reads a committed run.
func golden(t *testing.T, name string) *runfile.Run {
	t.Helper()
	r, err := runfile.Read(reports + "testdata/" + name + ".json")
	require.NoError(t, err)
	return r
}

package engine

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Regression: what the system does not report was left out, and the schema refused the run.
func TestTheEnvironmentHasAllItsMembers(t *testing.T) {
	t.Parallel()
	environment := description{run: &Engine{options: &Options{}}}.environment()
	for _, name := range []string{
		"cpu", "cores", "memory_mb", "kernel", "os", "arrival", "go", "shared_host", "pipeline", "git", "ci",
		"hostname",
		"tcp_congestion_control",
		"calibration_us",
	} {
		assert.Contains(t, environment, name)
	}
	assert.Nil(t, environment["pipeline"])
	assert.Positive(t, environment["calibration_us"])
}

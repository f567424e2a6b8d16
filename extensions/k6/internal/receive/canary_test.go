package receive

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
)

// Regression: a pipeline that knows its targets refused the canary, whose target none of them was.
func TestACanaryHasTheFirstTargetOfThoseWithNames(t *testing.T) {
	t.Parallel()
	numbered := profile.Flow{Name: "f", Target: "user", Targets: 2}
	named := numbered
	named.SetNames([]string{"berlin", "paris"})
	for want, flow := range map[string]profile.Flow{"canary/r": numbered, "berlin": named} {
		parts := &run.Parts{Name: "r", Profile: &profile.Profile{Flows: []profile.Flow{flow}}}
		assert.Equal(t, want, CanaryTarget(parts))
	}
}

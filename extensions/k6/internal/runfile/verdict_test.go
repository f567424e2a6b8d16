package runfile

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Regression: 98.75 % within the limit was printed as "99 %, limit ≥ 99 %".
func TestABrokenLimitNeverReadsAsHeld(t *testing.T) {
	t.Parallel()
	share := Rule{Name: "arrival_within_250ms", Value: new(98.75), Op: ">=", Limit: new(99.0), Unit: "%"}
	assert.Equal(t, "arrival within 250ms 98.8 %, limit ≥ 99 %", share.Broken())
	assert.Equal(t, "arrival_within_250ms ≥ 99 %: 98.8 %", share.Measured())

	p99 := Rule{Name: P99Rule, Value: new(250.2), Op: "<", Limit: new(250.0), Unit: "ms"}
	assert.Equal(t, "arrival p99 250.2 ms, limit < 250 ms", p99.Broken())

	// The limit is printed as 7.25 ms.
	lateness := Rule{Name: "lateness", Value: new(7.254), Op: "<=", Limit: new(7.246), Unit: "ms", Basis: "25 %"}
	assert.Equal(t, "lateness 7.254 ms, limit ≤ 7.25 ms", lateness.Broken())
}

func TestARateKeepsItsUnitBesideItsLimit(t *testing.T) {
	t.Parallel()
	rule := Rule{Name: "data rate", Value: new(2850.4), Op: "<", Limit: new(2850.0), Unit: "bytes/s"}
	assert.Equal(t, "data rate 2,850.4 bytes/s, limit < 2,850 bytes/s", rule.Broken())
}

func TestLimitsOfOurScriptsHaveWords(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("../../../../scenarios/*.js")
	require.NoError(t, err)
	metric := regexp.MustCompile(`new (?:Gauge|Trend|Rate)\('(\w+)'`)
	found := 0
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		require.NoError(t, err)
		for _, name := range metric.FindAllStringSubmatch(string(text), -1) {
			found++
			assert.NotEqual(t, name[1], Rule{Name: name[1]}.Label(), script)
		}
	}
	assert.Len(t, scriptMetrics, found)
	assert.Equal(t, "orders_missing", Rule{Name: "orders_missing"}.Label(), "a metric of the user's own")
}

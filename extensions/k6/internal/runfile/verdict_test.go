package runfile

import (
	"testing"

	"github.com/stretchr/testify/assert"
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

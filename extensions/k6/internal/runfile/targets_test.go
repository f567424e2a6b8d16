package runfile

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
)

// target returns a target whose deliveries took us µs each.
func target(name string, deliveries int, us int64) ledger.Target {
	t := ledger.Target{Name: name, Targets: 1, Arrival: ledger.NewCoarse()}
	if deliveries > 0 {
		t.Arrival.AddMany(us, deliveries)
	}
	return t
}

func TestNotableTargetsAreListedAndTheOthersSummed(t *testing.T) {
	t.Parallel()
	var followed []ledger.Target
	for i := range 200 {
		followed = append(followed, target("user/"+strconv.Itoa(i), 100+i, int64(1000*(200-i))))
	}
	lossy := target("user/lossy", 100, 1000)
	lossy.Lost, lossy.Reordered = 3, 2
	few := target("user/few", 5, 9_000_000)
	rest := target("", 7, 1000)
	rest.Targets, rest.Lost = 400, 1
	targets := NewTargets(append(followed, lossy, few), &rest)

	names := map[string]bool{}
	for _, row := range targets.Rows {
		names[row.Name] = true
	}
	assert.Len(t, names, 2*mostTargets+1)
	assert.True(t, names["user/0"], "the slowest")
	assert.True(t, names["user/199"], "the busiest")
	assert.True(t, names["user/lossy"])
	assert.False(t, names["user/few"], "5 deliveries have no p99")
	assert.Equal(t, "user/0", targets.Rows[0].Name)
	require.NotNil(t, targets.Others)
	assert.Equal(t, 602, targets.Total)
	assert.Equal(t, 602-len(names), targets.Others.Targets)
	assert.Equal(t, 1, targets.Others.Lost)
	count := targets.Others.Arrival.Count
	for _, row := range targets.Rows {
		count += row.Arrival.Count
	}
	assert.Equal(t, int64(200*100+199*100+100+5+7), count, "each delivery is in one row")
}

func TestFewTargetsAreAllListed(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(NewTargets([]ledger.Target{target("a/0", 1, 1000), target("a/1", 2, 3000)}, nil))
	require.NoError(t, err)
	assert.JSONEq(t, `{"total":2,"others":null,"rows":[
		{"name":"a/0","reordered":0,"lost":0,"arrival":{"count":1,"mean":1,"p50":1,"p95":1,"p99":1,"max":1}},
		{"name":"a/1","reordered":0,"lost":0,"arrival":{"count":2,"mean":3,"p50":3,"p95":3,"p99":3,"max":3}}]}`, string(text))
}

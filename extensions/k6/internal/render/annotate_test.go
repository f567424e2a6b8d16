package render

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Regression: a latency of −5 ms, 200,000 probes, members twice and data after the object were taken.
func TestACampaignIsTakenAsWrittenOrRefused(t *testing.T) {
	t.Parallel()
	const figures = `"figures": [{"name": "a", "value": 1}]`
	probe := func(change, to string) string {
		one := strings.Replace(`{"rate": 1200, "seconds": 15, "held": true, "p99_ms": 41.5}`, change, to, 1)
		return `{` + figures + `, "probes": [` + one + `]}`
	}
	found, err := runfile.CampaignOf([]byte(probe("", "")))
	require.NoError(t, err)
	assert.Equal(t, runfile.Campaign{Figures: []runfile.Figure{{Name: "a", Value: new(1.0)}},
		Probes: []runfile.Probe{{Rate: 1200, Seconds: 15, Held: true, P99: new(41.5)}}}, found)
	for text, why := range map[string]string{
		probe("41.5", "-5"):         "probes.0.p99_ms: minimum: got -5, want 0",
		probe("41.5", "1e12"):       "probes.0.p99_ms: maximum",
		probe("41.5", `"41.5"`):     "probes.0.p99_ms: got string, want null or number",
		probe("41.5", "NaN"):        "is not JSON",
		probe("41.5", "1e999"):      "1e999",
		probe("1200", "-1"):         "probes.0.rate: exclusiveMinimum",
		probe("1200", "0"):          "probes.0.rate: exclusiveMinimum",
		probe("1200", "1e10"):       "probes.0.rate: maximum",
		probe("15", "1e300"):        "probes.0.seconds: maximum",
		probe("true", "1"):          "probes.0.held: got number, want boolean",
		probe(`"held": true, `, ""): "probes.0: missing property 'held'",
		probe("held", "Held"):       "probes.0: missing property 'held'",
		"{" + figures + `, "probes": [` + strings.Repeat("{},", 1000) + "{}]}":    "probes: maxItems: got 1,001, want 1,000",
		"{" + figures + `, "probes": [` + strings.Repeat("{},", 199_999) + "{}]}": "probes",
		`{"figures": [` + strings.Repeat(`{"name":"a","value":1},`, 100) + `{}]}`: "maxItems: got 101, want 100",
		`{"figures": []}`:                         "figures: minItems",
		`{"Figures": []}`:                         "missing property 'figures'",
		`{"figures": [{"name": "a"}]}`:            "missing property 'value'",
		`{"figures": [{"name": "", "value": 1}]}`: "figures.0.name: minLength",
		`{"figures": [{"name": "` + strings.Repeat("a", 201) + `", "value": 1}]}`: "figures.0.name: maxLength",
		`{"figures": [{"name": "a", "value": 1, "generator": 1}]}`:                "additional properties 'generator'",
		`{` + figures + `, ` + figures + `}`:                                      "is not JSON: jsontext: duplicate object member name",
		`{` + figures + `}}`:                                                      "is not JSON",
		`{` + figures + `} {}`:                                                    "is not JSON: unexpected data after the end",
		`[]`:                                                                      "got array, want object",
		``:                                                                        "is not JSON",
	} {
		_, err := runfile.CampaignOf([]byte(text))
		assert.ErrorContains(t, err, why)
		assert.NotContains(t, err.Error(), "\n")
		assert.Less(t, len(err.Error()), 600)
	}
}

func TestALargeFileIsNotRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "figures.json")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Truncate(path, 100_000_000))
	_, err := runfile.ReadFileUpTo(path, 1<<20)
	assert.ErrorContains(t, err, "has 100000000 bytes or more; up to 1048576 are read")
}

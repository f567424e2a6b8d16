package address

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAddressesAreUsedAsTheyAreWrittenOrRefused(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../../../reports/contract/address.vectors.json")
	require.NoError(t, err)
	var vectors []struct {
		Kind, Address, Refused     string
		Scheme, Username, Password string
		Nodes                      []Node
		Database                   int
		Target                     string
	}
	require.NoError(t, json.Unmarshal(data, &vectors))
	require.NotEmpty(t, vectors)
	kinds := map[string]Kind{"redis": Redis, "mqtt": MQTT, "http": HTTP}
	for _, v := range vectors {
		a, err := Parse(kinds[v.Kind], v.Address)
		if v.Refused != "" {
			if assert.Error(t, err, v.Address) {
				assert.Contains(t, err.Error(), v.Refused, v.Address)
				assert.NotContains(t, err.Error(), "\n")
			}
			continue
		}
		if assert.NoError(t, err, v.Address) {
			assert.Equal(t, Address{v.Scheme, v.Username, v.Password, v.Nodes, v.Database, v.Target}, a, v.Address)
		}
	}
}

func TestANodeIsWrittenWithBracketsWhereItMust(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "[::1]:6379", Node{"::1", 6379}.String())
	assert.Equal(t, "host:1", Node{"host", 1}.String())
}

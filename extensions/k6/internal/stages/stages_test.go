package stages_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

func TestEachStageBeginsWhereTheOneBeforeEnds(t *testing.T) {
	t.Parallel()
	own, err := stages.Named([]string{"request", "api", "outbox", "worker", "push"})
	require.NoError(t, err)
	for _, l := range []stages.List{stages.Default(), own, stages.Default().Until("queue"), own.Until("request")} {
		assert.Equal(t, []string{"schedule", "due", "sent"}, []string{l[0].Name, l[0].From, l[0].To})
		for i := range l[1:] {
			assert.Equal(t, l[i].To, l[i+1].From)
		}
		assert.Equal(t, "arrived", l[len(l)-1].To)
		assert.Equal(t, len(l)-2, l.Stamps())
	}
	assert.Nil(t, own.Until("queue"))
}

func TestNamesOfStagesAreChecked(t *testing.T) {
	t.Parallel()
	for names, want := range map[string]string{
		"":                          "0 stages; allowed: 1 to 11",
		"a b":                       "up to 16 small letters",
		"Api":                       "up to 16 small letters",
		"api,api":                   "twice",
		"schedule":                  "twice",
		"a,b,c,d,e,f,g,h,i,j,k,l":   "12 stages; allowed: 1 to 11",
		"aaaaaaaaaaaaaaaaa":         "up to 16",
		"request,\x1b[2J":           `stage "\x1b[2J"`,
		"request,,delivery":         `stage ""`,
		"request,\u202edelivery":    "small letters",
		"request,constructor.__a":   "small letters",
		"request,delivery,delivery": "twice",
	} {
		_, err := stages.Named(
			strings.FieldsFunc(strings.ReplaceAll(names, ",,", ", ,"), func(r rune) bool { return r == ',' }))
		if names == "request,,delivery" {
			want = `stage " "`
		}
		assert.ErrorContains(t, err, want, names)
	}
}

// Comparisons and scripts know the names of these stages from the contract.
func TestTheDefaultStagesAreTheContracts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../reports/contract/stages.json")
	require.NoError(t, err)
	var want stages.List
	require.NoError(t, json.Unmarshal(text, &want))
	assert.Equal(t, want, stages.Default())
}

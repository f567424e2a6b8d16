package pacer

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

func TestSchedulesMatchTheVectors(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/vectors.json")
	require.NoError(t, err)
	var cases []struct {
		Name   string
		Phases []struct {
			Name                   string
			Duration, Rate, RampTo float64
		}
		Flows              []profile.Flow
		Requests, Messages int
		Slots              []struct {
			N, Phase, Flow, FirstSeq, OfFlow, Messages int
			Due                                        float64
		}
	}
	require.NoError(t, json.Unmarshal(data, &cases))
	require.NotEmpty(t, cases)
	for _, c := range cases {
		var phases []profile.Phase
		for _, p := range c.Phases {
			phases = append(phases, phase(p.Duration, p.Rate, p.RampTo))
		}
		p := New(&profile.Profile{Phases: phases, Flows: c.Flows})
		assert.Equal(t, c.Requests, p.Requests(), c.Name)
		assert.Equal(t, c.Messages, p.Messages(p.Requests()), c.Name)
		require.NotEmpty(t, c.Slots, c.Name)
		for _, s := range c.Slots {
			got := p.Slot(s.N)
			assert.InDelta(t, s.Due, got.Due.Seconds(), float64(time.Microsecond)/float64(time.Second),
				"%s, request %d", c.Name, s.N)
			got.Due = 0
			assert.Equal(t, Slot{N: s.N, Phase: s.Phase, Flow: s.Flow, FirstSeq: s.FirstSeq, FirstID: s.FirstSeq,
				OfFlow:   s.OfFlow,
				Messages: s.Messages},
				got, "%s, request %d", c.Name, s.N)
		}
	}
}

package facts

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// The vectors are fits of the implementation that the report page had before.
func TestTheFitIsThatOfTheVectors(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/usl.json")
	require.NoError(t, err)
	var vectors []struct {
		Name   string       `json:"name"`
		Points [][2]float64 `json:"points"`
		Fit    *struct {
			runfile.USL
			At10 float64 `json:"at_10"`
		} `json:"fit"`
	}
	require.NoError(t, json.Unmarshal(data, &vectors))
	require.NotEmpty(t, vectors)
	for _, v := range vectors {
		u := fitUSL(v.Points)
		if v.Fit == nil {
			assert.Nil(t, u, v.Name)
			continue
		}
		require.NotNil(t, u, v.Name)
		got := []float64{u.LambdaPerS, u.Sigma, u.Kappa, u.R2, throughput(u, 10)}
		want := []float64{v.Fit.LambdaPerS, v.Fit.Sigma, v.Fit.Kappa, v.Fit.R2, v.Fit.At10}
		assert.InDeltaSlice(t, want, got, 1e-6, v.Name)
		require.Equal(t, v.Fit.PeakVUs == nil, u.PeakVUs == nil, v.Name)
		if u.PeakVUs != nil {
			assert.InEpsilon(t, *v.Fit.PeakVUs, *u.PeakVUs, 1e-6, v.Name)
		}
	}
}

// sweep has a measured step of a closed load for each point.
func sweep(points ...[2]float64) (steps []runfile.Step) {
	for _, p := range points {
		steps = append(steps, runfile.Step{VUs: new(int(p[0])), Measured: true, CarriedPerS: p[1]})
	}
	return steps
}

func TestTheCurveGoesThroughTheStepsAndBetweenThem(t *testing.T) {
	t.Parallel()
	u := NewUSL(sweep([2]float64{8, 4900}, [2]float64{1, 955}, [2]float64{4, 3200}, [2]float64{32, 5200},
		[2]float64{16, 5900}))
	require.NotNil(t, u)
	require.Len(t, u.Points, 1+4*uslBetween)
	assert.Equal(t, 5, u.Steps)
	assert.InDelta(t, 1, u.Points[0][0], 0)
	assert.InDelta(t, 4, u.Points[uslBetween][0], 0)
	assert.InDelta(t, 32, u.Points[4*uslBetween][0], 0)
	assert.InEpsilon(t, 3200, u.Points[uslBetween][1], 0.03)
	assert.InDelta(t, 17, *u.PeakVUs, 1)
}

func TestAStepThatIsRepeatedHasOnePoint(t *testing.T) {
	t.Parallel()
	u := NewUSL(sweep([2]float64{1, 100}, [2]float64{2, 190}, [2]float64{2, 195}, [2]float64{4, 350}))
	require.NotNil(t, u)
	assert.Len(t, u.Points, 1+2*uslBetween)
}

func TestAPeakFarBeyondTheStepsIsNotBelieved(t *testing.T) {
	t.Parallel()
	u := NewUSL(sweep([2]float64{1, 100}, [2]float64{2, 181}, [2]float64{4, 307}, [2]float64{8, 471},
		[2]float64{16, 640}, [2]float64{32, 779}))
	require.NotNil(t, u)
	assert.Nil(t, u.PeakVUs, "it would be at 179 VUs")
}

// Regression: a curve was drawn through a sweep of which it explained 72 % (R² 0.715).
func TestAFitThatExplainsTooLittleIsNoCurve(t *testing.T) {
	t.Parallel()
	assert.Nil(t, NewUSL(sweep([2]float64{1, 900}, [2]float64{2, 1200}, [2]float64{4, 1100}, [2]float64{8, 1524},
		[2]float64{16, 900})))
	assert.Nil(t, NewUSL(sweep([2]float64{1, 100}, [2]float64{2, 190}, [2]float64{4, 350})), "too few steps")
	assert.Nil(t, NewUSL(sweep([2]float64{4, 1}, [2]float64{4, 2}, [2]float64{4, 3}, [2]float64{4, 4})), "no sweep")
}

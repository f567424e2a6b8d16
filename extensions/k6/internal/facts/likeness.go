package facts

import "math"

// alike is a model of how much a second is like the ones before: noise of each second, and a part that fades. The
// autocorrelation at a lag is share × decay^lag.
type alike struct{ decay, share float64 }

// weighed is a model and how likely it is after a series.
type weighed struct {
	alike
	weight float64
}

// likeness are the models of a series, whose weights sum to 1. A short series shows badly how much its seconds are
// alike, so every model keeps the weight that the series gives it, instead of one estimate.
type likeness []weighed

const (
	fadesFastest = 0.5 // s
	// A part that fades more slowly than in this share of the run would be a trend.
	fadesSlowest = 1.0 / 2
	// What fades more slowly than in fadesSlowly of the run is looked for only where it is the greater part: a small one
	// never shows.
	fadesSlowly   = 1.0 / 10
	greaterPart   = 0.6
	fadingTimes   = 12
	weightNothing = 1e-5 // the weight of a model that no result shows
)

// fadingShares are the shares of the models' fading parts.
var fadingShares = [...]float64{0.15, 0.3, 0.5, 0.7, 0.85, 1}

// newLikeness weighs the models after a series. It uses the likelihood of its cosine transform, whose parts are nearly
// independent; without the first part, which is the mean, it has no bias in short series.
func newLikeness(series []float64) likeness {
	models := modelsFor(len(series))
	parts := cosines(series)
	whole := 0.0
	for _, part := range parts {
		whole += part
	}
	logs, most := make([]float64, len(models)), math.Inf(-1)
	for i, m := range models {
		if whole > 0 {
			logs[i] = m.logLikelihood(parts)
		}
		most = max(most, logs[i])
	}
	var all likeness
	sum := 0.0
	for i, m := range models {
		// Slow models weigh more beforehand: it is they that a short series hides.
		weight := math.Sqrt(m.time()) * math.Exp(logs[i]-most)
		sum += weight
		all = append(all, weighed{m, weight})
	}
	kept := all[:0]
	for _, m := range all {
		if m.weight /= sum; m.weight > weightNothing {
			kept = append(kept, m)
		}
	}
	return kept
}

// time is the number of seconds in which a part fades to 1/e; of noise, the fastest.
func (m alike) time() float64 {
	if m.decay == 0 {
		return fadesFastest
	}
	return -1 / math.Log(m.decay)
}

func modelsFor(seconds int) []alike {
	longest := max(1, float64(seconds)*fadesSlowest)
	models := []alike{{}}
	for i := range fadingTimes {
		time := fadesFastest * math.Pow(longest/fadesFastest, float64(i)/(fadingTimes-1))
		for _, share := range fadingShares {
			if time < float64(seconds)*fadesSlowly || share >= greaterPart {
				models = append(models, alike{math.Exp(-1 / time), share})
			}
		}
	}
	return models
}

// cosines are the squares of a series' cosine transform (DCT-II), without the first.
func cosines(series []float64) []float64 {
	n := len(series)
	table := make([]float64, 4*n)
	for i := range table {
		table[i] = math.Cos(math.Pi * float64(i) / float64(2*n))
	}
	parts := make([]float64, max(0, n-1))
	for i := range parts {
		sum := 0.0
		for t, v := range series {
			sum += v * table[(i+1)*(2*t+1)%(4*n)]
		}
		parts[i] = 2 / float64(n) * sum * sum
	}
	return parts
}

// logLikelihood is the log-likelihood of the parts under a model, for the likeliest variance.
func (m alike) logLikelihood(parts []float64) float64 {
	n := float64(len(parts) + 1)
	logs, sum := 0.0, 0.0
	for i, part := range parts {
		angle := math.Pi * float64(i+1) / n
		spectrum := m.share*(1-m.decay*m.decay)/(1-2*m.decay*math.Cos(angle)+m.decay*m.decay) + 1 - m.share
		logs += math.Log(spectrum)
		sum += part / spectrum
	}
	return -(logs + float64(len(parts))*math.Log(sum)) / 2
}

// varianceOfMean is the variance of the mean of so many seconds, in parts of a second's variance.
func (m alike) varianceOfMean(seconds int) float64 {
	s, left := float64(seconds), 1-m.decay
	lags := m.decay/left - m.decay*(1-math.Pow(m.decay, s))/(s*left*left)
	return (1 + 2*m.share*lags) / s
}

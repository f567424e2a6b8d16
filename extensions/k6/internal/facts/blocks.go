package facts

import "math"

// blocking divides the seconds of a run into blocks.
type blocking struct {
	length, count int // seconds of a block, and blocks; the last one has the rest too
	// inflation is the factor by which the variance of blocks is too small, as they are not independent, and as that is
	// not known well.
	inflation float64
}

const (
	blocksLeast   = 10 // the variance of fewer is unknown: slow seconds are rare, and not normally distributed
	blocksMost    = 30 // more do not make an interval narrower
	inflationMost = 4  // above this inflation, blocks are too correlated
)

// newBlocking is the division of so many seconds that gives the narrowest interval, for the worst of several series;
// nil: there are too few seconds, or they are too much alike.
func newBlocking(of []likeness, seconds int, level float64) *blocking {
	var best *blocking
	least := math.Inf(1)
	for count := blocksLeast; count <= blocksMost; count++ {
		length := seconds / count
		// The rest makes the last block longer, but by less than a block.
		if length < 1 || seconds/length != count {
			continue
		}
		inflation, freedom := 0.0, math.Inf(1)
		for _, l := range of {
			i, f := l.misstated(length, count)
			inflation, freedom = max(inflation, i), min(freedom, f)
		}
		if inflation > inflationMost {
			continue
		}
		if reach := critical(level, freedom) * math.Sqrt(inflation); reach < least {
			best, least = &blocking{length: length, count: count}, reach
		}
	}
	if best == nil {
		return nil
	}
	for _, l := range of {
		best.inflation = max(best.inflation, l.inflation(best.length, best.count, level))
	}
	return best
}

// misstated is how blocks under a model misstate the variance of a mean: their own is too small by a factor, and has so
// many degrees of freedom.
func (m alike) misstated(length, count int) (inflation, freedom float64) {
	n := float64(count)
	block, whole := m.varianceOfMean(length), m.varianceOfMean(length*count)
	inflation = whole * (n - 1) / (block - whole)
	// Satterthwaite: of the quadratic form that the sample variance is, with the covariances of blocks by distance.
	fades := (1 - math.Pow(m.decay, float64(length))) / (1 - m.decay) / float64(length)
	between := m.share * m.decay * fades * fades
	sums := make([]float64, count)
	square, sum := 0.0, 0.0
	for distance := range count {
		covariance, times := block, 1.0
		if distance > 0 {
			covariance, times = between*math.Pow(m.decay, float64((distance-1)*length)), 2
		}
		square += times * float64(count-distance) * covariance * covariance
		sum += covariance
		sums[distance] = sum
	}
	rows, all := 0.0, 0.0
	for i := range count {
		row := sums[i] + sums[count-1-i] - block
		rows += row * row
		all += row
	}
	trace := n*block - all/n
	return inflation, trace * trace / (square - 2/n*rows + all/n*all/n)
}

// misstated averages over the models.
func (l likeness) misstated(length, count int) (inflation, freedom float64) {
	for _, m := range l {
		i, f := m.alike.misstated(length, count)
		inflation, freedom = inflation+m.weight*i, freedom+m.weight*f
	}
	return inflation, freedom
}

// inflation is the one with which Student's t for independent blocks misses as often as a confidence level allows, over
// all models.
func (l likeness) inflation(length, count int, level float64) float64 {
	_, freedom := l.misstated(length, count)
	logs := make([]float64, len(l))
	for i, m := range l {
		inflation, _ := m.alike.misstated(length, count)
		logs[i] = math.Log(inflation)
	}
	t := critical(level, float64(count-1))
	misses := func(log float64) (sum float64) {
		for i, m := range l {
			sum += m.weight * beyond(t*math.Exp((log-logs[i])/2), freedom)
		}
		return sum
	}
	low, high := 0.0, 10.0
	for high-low > 0.001 {
		middle := (low + high) / 2
		if misses(middle) > 1-level {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Exp(high)
}

// typical is the factor by which the variance of so many single seconds is too small: the geometric mean over the
// models.
func (l likeness) typical(seconds int) float64 {
	log := 0.0
	for _, m := range l {
		inflation, _ := m.alike.misstated(1, seconds)
		log += m.weight * math.Log(inflation)
	}
	return math.Exp(log)
}

package render

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// staticChart is the first chart of a report as the parts of an SVG.
type staticChart struct {
	Width, Height int
	Title, Note   string
	Ticks         []staticTick
	Lines         []staticLine
}

type staticTick struct {
	X1, X2, Y1, Y2, TextX, TextY int
	Anchor, Text                 string
}

type staticLine struct {
	Points, Colour string
	Dashed         bool
}

// Sizes in units of the drawing: the place of the curve within it.
const (
	chartWidth, chartHeight = 1000, 240
	chartLeft, chartRight   = 70, 985
	chartTop, chartBottom   = 12, 205
	chartPoints             = 500 // a longer run shows the highest of those that share a place
)

const (
	lineColour  = "#2f6fb5"
	limitColour = "#c0392b"
)

// point is a p99 in ms at a place: a second of the run, or the concurrency of a sweep's step. NaN: not known.
type point struct{ x, y float64 }

// newStaticChart draws arrival p99 over time, of a sweep over its concurrency; with too few deliveries a second the
// slowest of each. It returns nil if nothing is known.
func newStaticChart(r *runfile.Run) *staticChart {
	var points []point
	c := &staticChart{Width: chartWidth, Height: chartHeight,
		Title: cmp.Or(r.Facts.Titles["p99"], "Arrival p99 over time"),
		Note:  "arrival p99 in ms, by seconds of the run"}
	label := func(x float64) string { return words.Moment(time.Duration(x) * time.Second) }
	if steps := runfile.SweepSteps(r.Steps); runfile.Sweeps(r.Steps) {
		for _, s := range steps {
			points = append(points, point{math.Log2(float64(*s.VUs)), known(s.Latency.Arrival.At(99))})
		}
		c.Title = cmp.Or(r.Facts.Titles["latency_by_vus"], "Arrival p99 by concurrency")
		c.Note = "arrival p99 in ms, by VUs (logarithmic)"
		label = func(x float64) string { return words.Plural(int(math.Round(math.Exp2(x))), "VU") }
	} else {
		for _, s := range r.Timeline {
			points = append(points, point{float64(s.T), known(s.Arrival.P99OrNil())})
		}
		if _, most := extent(points); math.IsInf(most, 0) { // no second has enough for a p99
			points, c.Note = slowest(r.Timeline), "slowest delivery in ms, by seconds of the run"
		}
		points = thinned(points)
	}
	least, most := extent(points)
	if len(points) < 2 || math.IsInf(most, 0) {
		return nil
	}
	limit := r.Answer.P99LimitMS
	if limit != nil {
		least, most = min(least, *limit), max(most, *limit)
		c.Note += "; dashed: the limit"
	}
	c.draw(points, limit, least, most, label)
	return c
}

// slowest are the slowest deliveries of each second.
func slowest(timeline []runfile.Interval) (points []point) {
	for _, s := range timeline {
		y := math.NaN()
		if s.Arrival != nil {
			y = s.Arrival.Max
		}
		points = append(points, point{float64(s.T), y})
	}
	return points
}

func known(ms *float64) float64 {
	if ms == nil {
		return math.NaN()
	}
	return *ms
}

// thinned keeps the highest of the points that share a place.
func thinned(points []point) (few []point) {
	step := (len(points) + chartPoints - 1) / chartPoints
	for group := range slices.Chunk(points, max(1, step)) {
		highest := group[0]
		for _, p := range group {
			if math.IsNaN(highest.y) || p.y > highest.y {
				highest = p
			}
		}
		few = append(few, highest)
	}
	return few
}

func extent(points []point) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, p := range points {
		if !math.IsNaN(p.y) {
			least, most = min(least, p.y), max(most, p.y)
		}
	}
	return least, most
}

// draw fills in lines and ticks. Values that span a factor of ten have a logarithmic axis.
func (c *staticChart) draw(points []point, limit *float64, least, most float64, label func(x float64) string) {
	scale, low, high := func(y float64) float64 { return y }, 0.0, max(most*1.08, 1e-3)
	if least > 0 && most/least > 10 {
		scale, low, high = math.Log, math.Log(least/1.2), math.Log(most*1.2)
		c.Note += "; logarithmic"
	}
	first, last := points[0].x, points[len(points)-1].x
	x := func(v float64) int { return chartLeft + int((v-first)/max(last-first, 1e-9)*(chartRight-chartLeft)) }
	y := func(v float64) int { return chartBottom - int((scale(v)-low)/(high-low)*(chartBottom-chartTop)) }
	for _, v := range niceTicks(least, most, low != 0) {
		c.Ticks = append(c.Ticks, staticTick{chartLeft, chartRight, y(v), y(v), chartLeft - 8, y(v) + 4, "end",
			words.Figure(&v)})
	}
	for _, v := range []float64{first, (first + last) / 2, last} {
		anchor := map[float64]string{first: "start", last: "end"}[v]
		if anchor == "" {
			anchor = "middle"
		}
		c.Ticks = append(c.Ticks, staticTick{x(v), x(v), chartBottom, chartBottom + 5, x(v), chartBottom + 20, anchor,
			label(v)})
	}
	if limit != nil {
		at := y(*limit)
		c.Lines = append(c.Lines, staticLine{fmt.Sprintf("%d,%d %d,%d", chartLeft, at, chartRight, at),
			limitColour, true})
	}
	var run []string
	end := func() {
		if len(run) == 1 { // a second alone is a short line
			run = append(run, run[0])
		}
		if len(run) > 0 {
			c.Lines = append(c.Lines, staticLine{strings.Join(run, " "), lineColour, false})
		}
		run = nil
	}
	for _, p := range points {
		if math.IsNaN(p.y) {
			end()
			continue
		}
		run = append(run, fmt.Sprintf("%d,%d", x(p.x), y(p.y)))
	}
	end()
}

// niceTicks are 1, 2 or 5 times powers of ten within a range; of a logarithmic one the powers of ten, or also between
// them.
func niceTicks(least, most float64, log bool) (ticks []float64) {
	if !log {
		step := math.Pow(10, math.Floor(math.Log10(max(most, 1e-3))))
		for _, part := range []float64{0.2, 0.5, 1, 2} {
			if most/(step*part) <= 5 {
				step *= part
				break
			}
		}
		for v := 0.0; v <= most*1.05; v += step {
			ticks = append(ticks, v)
		}
		return ticks
	}
	between := []float64{1}
	if most/least < 300 {
		between = []float64{1, 2, 5}
	}
	for e := math.Floor(math.Log10(least)); e <= math.Ceil(math.Log10(most)); e++ {
		for _, b := range between {
			if v := b * math.Pow(10, e); v >= least && v <= most*1.2 {
				ticks = append(ticks, v)
			}
		}
	}
	return ticks
}

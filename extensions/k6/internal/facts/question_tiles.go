package facts

import (
	"fmt"
	"math"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// questionTiles are the figures that answer the question of a run's script; none: it asks which rate was held.
func questionTiles(r *runfile.Run) []runfile.Tile {
	f := r.Facts
	switch {
	case f.Asks(runfile.Recovering) && f.Recovery != nil:
		return []runfile.Tile{drainTile(r, f.Recovery)}
	case f.Asks(runfile.Steadiness):
		return []runfile.Tile{driftTile(r), growthTile(r)}
	case f.Asks(runfile.OfConnections) && f.Connections != nil:
		return []runfile.Tile{connectionsTile(r, f.Connections)}
	}
	return nil
}

// drainTile is how long the backlog of a burst took to drain, and p99 to be back. Without a backlog it is the p99.
func drainTile(r *runfile.Run, f *runfile.Recovery) runfile.Tile {
	if leftNone(f) && f.BackS != nil {
		tile := runfile.Tile{Name: "p99 back", Value: f.BackS, Unit: "s", Text: words.Figure(new(max(0, *f.BackS))),
			Worry: broken(r, backRule), Estimator: "end of the burst to the second from which on p99 stays as it was before"}
		tile.Note = joined("; ", strings.Trim(besideLimit(r, backRule, "s"), " ()"), "no backlog behind the ingest")
		return aboutIfLate(r, tile)
	}
	tile := runfile.Tile{Name: "Drained", Text: none, Estimator: "end of the burst to the second from which on the " +
		"backlog stays as it was before", Worry: broken(r, drainRule)}
	if f.DrainedS != nil {
		tile.Value, tile.Unit, tile.Text = f.DrainedS, "s", words.Figure(new(max(0, *f.DrainedS)))
	}
	tile = aboutIfLate(r, tile)
	back := "p99 was not back"
	if f.BackS != nil {
		back = "p99 back after " + words.Duration(max(0, *f.BackS))
	}
	tile.Note = joined("; ", strings.Trim(besideLimit(r, drainRule, "s"), " ()"), back)
	return tile
}

// driftTile is how much p99 grew over a steady load.
func driftTile(r *runfile.Run) runfile.Tile {
	tile := runfile.Tile{Name: "p99 growth", Text: none, Estimator: "p99 of the last quarter less that of the second",
		Note: "too few deliveries", Worry: broken(r, driftRule)}
	d := r.Facts.Drift
	if d == nil || d.GrewMS == nil {
		return tile
	}
	tile.Value, tile.Unit, tile.Text = d.GrewMS, "ms", changed(*d.GrewMS, words.MS(new(math.Abs(*d.GrewMS))))
	tile.Note = joined("; ", strings.Trim(besideLimit(r, driftRule, "ms"), " ()"), "second quarter to last")
	return aboutIfLate(r, tile)
}

// growthTile is how much the memory of the pipeline's process that grew most has grown over a steady load.
func growthTile(r *runfile.Run) runfile.Tile {
	tile := runfile.Tile{Name: "Memory growth", Text: none, Worry: broken(r, growthRule),
		Estimator: "the most of a process of the pipeline, last quarter less the second",
		Note:      "a process did not report its memory"}
	m := r.Facts.Memory
	if m == nil || m.MostGrewMB == nil {
		return tile
	}
	tile.Value, tile.Unit, tile.Text = m.MostGrewMB, "MB", changed(*m.MostGrewMB, words.Level(math.Abs(*m.MostGrewMB)))
	tile.Note = joined("; ", strings.Trim(besideLimit(r, growthRule, "MB"), " ()"), "of one process, at most")
	return tile
}

// aboutIfLate marks a difference of arrival latencies that the generator's lateness is part of: it does not bound anything.
func aboutIfLate(r *runfile.Run, tile runfile.Tile) runfile.Tile {
	if tile.Value != nil && arrivalTooHigh(r) {
		tile.Doubt, tile.Text = runfile.About, doubted(tile.Text, runfile.About)
	}
	return tile
}

// connectionsTile is how many connections were held.
func connectionsTile(r *runfile.Run, c *runfile.Connections) runfile.Tile {
	return runfile.Tile{Name: "Connections", Value: new(float64(c.Held)), Text: words.Count(c.Held), Estimator: "count",
		Note:  fmt.Sprintf("held of %s, for %s", words.Count(c.Wanted), words.Duration(c.During.ToS-c.During.FromS)),
		Worry: broken(r, missingRule)}
}

// missingRule is the limit on connections that were not opened, or lost.
const missingRule = "connections_missing"

// broken reports whether the limit of a script on a figure of its own is broken.
func broken(r *runfile.Run, name string) bool {
	for _, rule := range r.Verdict.Rules {
		if rule.Name == name && rule.IsBroken() && rule.Result == runfile.Fail {
			return true
		}
	}
	return false
}

// changed puts a sign before a change.
func changed(change float64, text string) string {
	switch {
	case change > 0:
		return "+" + text
	case change < 0:
		return "−" + text
	}
	return text
}

package render

import (
	"slices"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// scriptFigures formats the script's figures: name, and a value for each instance with the unit.
func scriptFigures(figures []runfile.Figure, none string) (shown [][2]string) {
	for i, f := range figures {
		same := func(o runfile.Figure) bool { return o.Name == f.Name }
		if slices.ContainsFunc(figures[:i], same) {
			continue
		}
		var values []string
		unit := ""
		for _, o := range figures {
			switch {
			case !same(o):
			case o.Value == nil:
				values = append(values, none)
			default:
				values = append(values, words.Figure(o.Value))
				unit = f.Unit
			}
		}
		shown = append(shown, [2]string{f.Name, strings.TrimSpace(strings.Join(values, " · ") + " " + unit)})
	}
	return shown
}

package engine

import (
	"fmt"
	"slices"
	"strings"
)

// Recipient is the number, from 1, of the target where a message came.
func (e *Engine) Recipient(value any) (int, error) {
	name, _ := value.(string)
	number, known := e.Targets.Number([]byte(name))
	if !known {
		return 0, fmt.Errorf("has target %q, which no message of the run has; allowed: %s", fmt.Sprint(value), e.recipients())
	}
	return number + 1, nil
}

// recipients says which targets a run has.
func (e *Engine) recipients() string {
	var all []string
	for _, f := range e.Profile.Flows {
		text := f.TargetOf(0)
		if f.Targets > 1 {
			text += " to " + f.TargetOf(f.Targets-1)
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}

package arrival

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/grafana/sobek"

	"github.com/arrival-bench/arrival/extensions/k6/internal/engine"
)

// parseOptions reads the options of new Run().
func parseOptions(rt *sobek.Runtime, v sobek.Value) (*engine.Options, error) {
	if v == nil || sobek.IsUndefined(v) || sobek.IsNull(v) {
		return nil, errors.New("new Run() wants its options: { profile, ingest, mqtt, … }")
	}
	text, err := json.Marshal(v.ToObject(rt))
	if err != nil {
		return nil, fmt.Errorf("options of Run: %w", err)
	}
	return engine.ParseOptions(text)
}

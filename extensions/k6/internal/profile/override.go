package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Override replaces settings of named phases, for a script's environment variables. Keys are those of a phase
// in a profile, values are numbers or strings. Empty values and unknown phases are ignored.
func (p *Profile) Override(phase string, settings map[string]any) error {
	settings = maps.Clone(settings)
	maps.DeleteFunc(settings, func(_ string, value any) bool { return value == nil || value == "" })
	if len(settings) == 0 {
		return nil
	}
	i := slices.IndexFunc(p.Phases, func(ph Phase) bool { return ph.Name == phase })
	if i < 0 {
		names := make([]string, len(p.Phases))
		for j, ph := range p.Phases {
			names[j] = ph.Name
		}
		return fmt.Errorf("profile %s has no phase %q; it has: %s", p.Name, phase, strings.Join(names, ", "))
	}
	ph := &p.Phases[i]
	ramps := ph.Ramps()
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		n := &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(settings[key])}
		var err error
		switch key {
		case "duration":
			if ph.Duration, err = duration(n); err == nil && ph.Duration <= 0 {
				err = fmt.Errorf("%s is not above 0", n.Value)
			}
			if err == nil && ph.Count > 0 {
				ph.spread()
			}
		case "arrivalRate": // sorted before the duration, which would spread a count
			ph.Count = 0
			if ph.Rate, err = rate(n); !ramps {
				ph.RampTo = ph.Rate
			}
		case "rampTo":
			ph.RampTo, err = rate(n)
		case "vus":
			ph.VUs, err = vus(n)
		default:
			err = errors.New("unknown; allowed: duration, arrivalRate, rampTo, vus")
		}
		if err != nil {
			return fmt.Errorf("phase %q, %s: %s", phase, key, strings.TrimPrefix(err.Error(), "line 0: "))
		}
	}
	return p.check()
}

// ReplaceFlows replaces all flows, for a script whose pipeline takes others. Keys are those of a flow in a profile.
func (p *Profile) ReplaceFlows(flows []map[string]any) error {
	if len(flows) == 0 {
		return nil
	}
	text, err := json.Marshal(flows)
	if err != nil {
		return fmt.Errorf("flows: %w", err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil { // JSON is YAML
		return fmt.Errorf("flows: %w", err)
	}
	if p.Flows, err = list("flows", parseFlow)(doc.Content[0]); err != nil {
		return fmt.Errorf("flows: %s", strings.TrimPrefix(err.Error(), "line 1: "))
	}
	return p.check()
}

// OverrideFlows replaces settings of all flows: payloadBytes and targets. Values are as for Override.
func (p *Profile) OverrideFlows(settings map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		value := settings[key]
		if value == nil || value == "" {
			continue
		}
		n := &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(value)}
		if names, many := value.([]any); many {
			n = &yaml.Node{Kind: yaml.SequenceNode}
			for _, name := range names {
				n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(name)})
			}
		}
		for i := range p.Flows {
			err := errors.New("unknown; allowed: payloadBytes, targets")
			switch key {
			case "payloadBytes":
				p.Flows[i].PayloadBytes, err = payloadBytes(n)
			case "targets":
				var round round
				if round, err = targets(n); err == nil {
					round.of(&p.Flows[i])
				}
			}
			if err != nil {
				return fmt.Errorf("every flow, %s: %s", key, strings.TrimPrefix(err.Error(), "line 0: "))
			}
		}
	}
	return p.check()
}

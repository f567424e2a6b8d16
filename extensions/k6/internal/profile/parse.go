package profile

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Bounds of a profile. MaxSubscribers is the number of bits in the ledger; maxRequests catches typing errors (a
// rate of 1e9).
const (
	MaxSubscribers = 32
	maxBatch       = 1000
	maxRequests    = 1e9
	maxVUs         = 10_000
	maxPhases      = 1000 // each has histograms of its own
	maxDuration    = 7 * 24 * time.Hour
)

var targetPrefix = regexp.MustCompile(`^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*$`)

// Parse reads a profile. name appears in errors and in the report. Errors give the line, the key, the value and
// what is allowed.
func Parse(name, text string) (*Profile, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, fmt.Errorf("profile %s: not YAML: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) == 0 {
		return nil, fmt.Errorf("profile %s is empty; allowed keys: phases, flows", name)
	}

	p := &Profile{Name: name}
	err := eachKey(doc.Content[0], "profile", map[string]func(*yaml.Node) error{
		"phases": func(n *yaml.Node) (err error) { p.Phases, err = list(n, "phases", parsePhase); return },
		"flows":  func(n *yaml.Node) (err error) { p.Flows, err = list(n, "flows", parseFlow); return },
	})
	if err == nil {
		err = p.check()
	}
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", name, err)
	}
	return p, nil
}

func (p *Profile) check() error {
	if len(p.Phases) == 0 {
		return errors.New("phases is missing: a list of at least one phase")
	}
	if len(p.Phases) > maxPhases {
		return fmt.Errorf("there are %d phases; at most %d are allowed", len(p.Phases), maxPhases)
	}
	if len(p.Flows) == 0 {
		return errors.New("flows is missing: a list of at least one flow")
	}
	requests := 0.0
	for i := range p.Phases {
		ph := &p.Phases[i]
		if ph.Name == "" {
			ph.Name = fmt.Sprintf("phase %d", i+1)
		}
		if slices.ContainsFunc(p.Phases[:i], func(o Phase) bool { return o.Name == ph.Name }) {
			return fmt.Errorf("two phases are named %q", ph.Name)
		}
		requests += (ph.Rate + ph.RampTo) / 2 * ph.Duration.Seconds()
	}
	switch {
	case p.Closed():
		if err := p.checkClosed(); err != nil {
			return err
		}
	case requests <= 0:
		return errors.New("the phases hold no request: every rate is 0")
	case requests > maxRequests:
		return fmt.Errorf("the phases hold %.3g requests; at most %.0e are allowed", requests, maxRequests)
	}

	weights := 0
	for i, f := range p.Flows {
		weights += f.Weight
		for _, o := range p.Flows[:i] {
			if o.Name == f.Name {
				return fmt.Errorf("two flows are named %q", f.Name)
			}
			// One topic has one set of subscribers, so two flows can't disagree about it.
			if o.Target == f.Target && (o.Deliveries != f.Deliveries || o.Targets != f.Targets) {
				return fmt.Errorf("flows %q and %q share the target %q but differ in targets or deliveries",
					o.Name, f.Name, f.Target)
			}
		}
	}
	if weights == 0 {
		return errors.New("the weights of the flows sum to 0; at least one must be above 0")
	}
	return nil
}

// checkClosed refuses keys of the open model in a profile of the closed one.
func (p *Profile) checkClosed() error {
	both := slices.IndexFunc(p.Phases, func(ph Phase) bool { return ph.VUs > 0 && ph.arrivals() })
	if both >= 0 {
		return fmt.Errorf("phase %q has vus and an arrival rate; allowed is the one or the other", p.Phases[both].Name)
	}
	open := slices.IndexFunc(p.Phases, Phase.arrivals)
	closed := slices.IndexFunc(p.Phases, func(ph Phase) bool { return ph.VUs > 0 })
	if open >= 0 {
		return fmt.Errorf("phase %q has an arrival rate and phase %q has vus; allowed is one kind in a profile, and pauses",
			p.Phases[open].Name, p.Phases[closed].Name)
	}
	return nil
}

func parsePhase(n *yaml.Node) (Phase, error) {
	p := Phase{Measured: true}
	var rate, rampTo, count, pause, duration, drain *float64
	seconds := func(into **float64) func(*yaml.Node) error {
		return func(v *yaml.Node) error {
			d, err := parseDuration(v)
			*into = &d
			return err
		}
	}
	positive := func(into **float64) func(*yaml.Node) error {
		return func(v *yaml.Node) error {
			f, err := number(v, 0, maxRequests)
			*into = &f
			return err
		}
	}
	err := eachKey(n, "phase", map[string]func(*yaml.Node) error{
		"name":         func(v *yaml.Node) error { return text(v, &p.Name) },
		"duration":     seconds(&duration),
		"arrivalRate":  positive(&rate),
		"rampTo":       positive(&rampTo),
		"arrivalCount": positive(&count),
		"pause":        seconds(&pause),
		"vus":          whole(&p.VUs, 1, maxVUs),
		"requests":     whole(&p.Requests, 1, maxRequests),
		"drain":        seconds(&drain),
		"measured":     func(v *yaml.Node) error { return boolean(v, &p.Measured) },
	})
	if err != nil {
		return p, err
	}

	at := func(format string, args ...any) error {
		return fmt.Errorf("line %d: phase %q: %s", n.Line, p.Name, fmt.Sprintf(format, args...))
	}
	if p.VUs == 0 && (p.Requests != 0 || drain != nil) {
		return p, at("requests and drain belong to a closed load: vus is missing beside them")
	}
	if drain != nil {
		p.Drain = toDuration(*drain)
	}
	if pause != nil {
		if rate != nil || rampTo != nil || count != nil || duration != nil || p.VUs != 0 {
			return p, at("pause stands alone: no duration, arrivalRate, rampTo, arrivalCount or vus beside it")
		}
		if p.Duration = toDuration(*pause); p.Duration <= 0 {
			return p, at("pause is 0: a time above 0, in seconds or like 2m")
		}
		return p, nil
	}
	if duration == nil || *duration <= 0 {
		return p, at("duration is missing or 0: a time above 0, in seconds or like 2m")
	}
	p.Duration = toDuration(*duration)
	switch {
	case p.VUs != 0 && (rate != nil || rampTo != nil || count != nil):
		return p, at("vus stands for a closed load: no arrivalRate, rampTo or arrivalCount beside it")
	case p.VUs != 0:
	case count != nil && (rate != nil || rampTo != nil):
		return p, at("arrivalCount and arrivalRate exclude each other")
	case count != nil:
		p.Count = *count
		p.spread()
	case rate == nil:
		return p, at("arrivalRate, arrivalCount, vus or pause is missing")
	default:
		p.Rate, p.RampTo = *rate, *rate
		if rampTo != nil {
			p.RampTo = *rampTo
		}
	}
	return p, nil
}

func parseFlow(n *yaml.Node) (Flow, error) {
	f := Flow{Weight: 1, Target: "user", Targets: 100, Messages: 1, Deliveries: 1, PayloadBytes: 64}
	err := eachKey(n, "flow", map[string]func(*yaml.Node) error{
		"name":         func(v *yaml.Node) error { return text(v, &f.Name) },
		"weight":       whole(&f.Weight, 0, 1000),
		"target":       func(v *yaml.Node) error { return text(v, &f.Target) },
		"targets":      targets(&f),
		"messages":     whole(&f.Messages, 1, maxBatch),
		"deliveries":   whole(&f.Deliveries, 1, MaxSubscribers),
		"payloadBytes": payloadBytes(&f),
	})
	if err != nil {
		return f, err
	}
	if f.Name == "" {
		return f, fmt.Errorf("line %d: flow has no name", n.Line)
	}
	if !targetPrefix.MatchString(f.Target) {
		return f, fmt.Errorf("line %d: flow %q: target %q: letters, digits, _ . - and single / between them are allowed",
			n.Line, f.Name, f.Target)
	}
	return f, nil
}

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
		var x float64
		switch key {
		case "duration":
			if x, err = parseDuration(n); err == nil && x <= 0 {
				err = fmt.Errorf("%s is not above 0", n.Value)
			}
			ph.Duration = toDuration(x)
			if err == nil && ph.Count > 0 {
				ph.spread()
			}
		case "arrivalRate": // sorted before the duration, which would spread a count
			x, err = number(n, 0, maxRequests)
			ph.Rate, ph.Count = x, 0
			if !ramps {
				ph.RampTo = x
			}
		case "rampTo":
			x, err = number(n, 0, maxRequests)
			ph.RampTo = x
		case "vus":
			err = whole(&ph.VUs, 1, maxVUs)(n)
		default:
			err = errors.New("unknown; allowed: duration, arrivalRate, rampTo, vus")
		}
		if err != nil {
			return fmt.Errorf("phase %q, %s: %s", phase, key, strings.TrimPrefix(err.Error(), "line 0: "))
		}
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
		for i := range p.Flows {
			err := errors.New("unknown; allowed: payloadBytes, targets")
			switch key {
			case "payloadBytes":
				err = payloadBytes(&p.Flows[i])(n)
			case "targets":
				err = targets(&p.Flows[i])(n)
			}
			if err != nil {
				return fmt.Errorf("every flow, %s: %s", key, strings.TrimPrefix(err.Error(), "line 0: "))
			}
		}
	}
	return p.check()
}

func targets(f *Flow) func(*yaml.Node) error { return whole(&f.Targets, 1, 100_000) }

func payloadBytes(f *Flow) func(*yaml.Node) error { return whole(&f.PayloadBytes, 0, 1<<20) }

func toDuration(seconds float64) time.Duration { return time.Duration(math.Round(seconds * 1e9)) }

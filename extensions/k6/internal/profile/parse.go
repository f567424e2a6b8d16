package profile

import (
	"errors"
	"fmt"
	"io"
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
	var doc, next yaml.Node
	documents := yaml.NewDecoder(strings.NewReader(text))
	err := documents.Decode(&doc)
	if err == nil {
		err = documents.Decode(&next)
	}
	switch {
	case err != nil && err != io.EOF:
		return nil, fmt.Errorf("profile %s: not YAML: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
	case len(doc.Content) == 0:
		return nil, fmt.Errorf("profile %s is empty; allowed keys: phases, flows", name)
	case len(next.Content) > 0 && next.Content[0].ShortTag() != "!!null": // an empty one may follow the last ---
		return nil, fmt.Errorf("profile %s: line %d: a second document; allowed is one", name, next.Line)
	}

	p := &Profile{Name: name}
	_, err = eachKey(doc.Content[0], "profile", map[string]parser{
		"phases": into(&p.Phases, list("phases", parsePhase)), "flows": into(&p.Flows, list("flows", parseFlow)),
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
					o.Name, f.Name, excerpt(strings.TrimPrefix(f.Target, ",")))
			}
			if o.Target == f.Target {
				continue
			}
			if name := shared(&o, &f); name != "" {
				return fmt.Errorf("flows %q and %q share the target %q, and not all of their targets: "+
					"allowed are the same ones in the same order, or others", o.Name, f.Name, name)
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
		return fmt.Errorf("phase %q has an arrival rate and phase %q has vus; "+
			"allowed is one kind in a profile, and pauses",
			p.Phases[open].Name, p.Phases[closed].Name)
	}
	return nil
}

func parsePhase(n *yaml.Node) (Phase, error) {
	p, pause := Phase{Measured: true}, time.Duration(0)
	given, err := eachKey(n, "phase", map[string]parser{
		"name":         into(&p.Name, text),
		"duration":     into(&p.Duration, duration),
		"arrivalRate":  into(&p.Rate, rate),
		"rampTo":       into(&p.RampTo, rate),
		"arrivalCount": into(&p.Count, rate),
		"pause":        into(&pause, duration),
		"vus":          into(&p.VUs, vus),
		"requests":     into(&p.Requests, whole(1, maxRequests)),
		"drain":        into(&p.Drain, duration),
		"measured":     into(&p.Measured, boolean),
	})
	if err != nil {
		return p, err
	}
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(key string) bool { return given[key] > 0 })
	}
	arrivals, wrong := has("arrivalRate", "rampTo", "arrivalCount"), ""
	switch {
	case !has("vus") && has("requests", "drain"):
		wrong = "requests and drain belong to a closed load: vus is missing beside them"
	case has("pause") && (arrivals || has("duration", "vus")):
		wrong = "a pause has no duration, arrivalRate, rampTo, arrivalCount or vus"
	case has("pause") && pause <= 0:
		wrong = "pause is 0: a time above 0, in seconds or like 2m"
	case has("pause"):
		p.Duration = pause
	case p.Duration <= 0:
		wrong = "duration is missing or 0: a time above 0, in seconds or like 2m"
	case has("vus") && arrivals:
		wrong = "vus means a closed load, which has no arrivalRate, rampTo or arrivalCount"
	case has("vus"):
	case has("arrivalCount") && has("arrivalRate", "rampTo"):
		wrong = "arrivalCount and arrivalRate exclude each other"
	case has("arrivalCount"):
		p.spread()
	case !has("arrivalRate"):
		wrong = "arrivalRate, arrivalCount, vus or pause is missing"
	case !has("rampTo"):
		p.RampTo = p.Rate
	}
	if wrong != "" {
		return p, fmt.Errorf("line %d: phase %q: %s", n.Line, p.Name, wrong)
	}
	return p, nil
}

func parseFlow(n *yaml.Node) (Flow, error) {
	f := Flow{Weight: 1, Target: defaultTarget, Messages: 1, Deliveries: 1, PayloadBytes: 64}
	round := round{number: 100}
	given, err := eachKey(n, "flow", map[string]parser{
		"name":         into(&f.Name, text),
		"weight":       into(&f.Weight, whole(0, 1000)),
		"target":       into(&f.Target, text),
		"targets":      into(&round, targets),
		"messages":     into(&f.Messages, whole(1, maxBatch)),
		"deliveries":   into(&f.Deliveries, whole(1, MaxSubscribers)),
		"payloadBytes": into(&f.PayloadBytes, payloadBytes),
	})
	switch {
	case err != nil:
	case f.Name == "":
		err = fmt.Errorf("line %d: flow has no name", n.Line)
	case !targetPrefix.MatchString(f.Target):
		err = fmt.Errorf("line %d: flow %q: target %q: letters, digits, _ . - and single / between them are allowed",
			n.Line, f.Name, f.Target)
	case round.names != nil && given["target"] > 0:
		err = fmt.Errorf("line %d: flow %q: target is the beginning of numbered targets, and targets has names: "+
			"one of them is allowed", n.Line, f.Name)
	}
	round.of(&f)
	return f, err
}

// Values that a script can set, too.
var (
	rate         = func(n *yaml.Node) (float64, error) { return number(n, 0, maxRequests) }
	vus          = whole(1, maxVUs)
	numbered     = whole(1, targetsMost)
	payloadBytes = whole(0, 1<<20)
)

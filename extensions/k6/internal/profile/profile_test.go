package profile

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const flows = "flows: [{name: a}]\n"

func TestParse(t *testing.T) {
	t.Parallel()
	p, err := Parse("p.yml", `
phases:
  - {name: up, duration: 20s, arrivalRate: 100, rampTo: 1500, measured: false}
  - {duration: 2m, arrivalCount: 60}
  - {pause: 5}
flows:
  - {name: room, weight: 2, target: room, targets: 10, deliveries: 5, messages: 3, payloadBytes: 9}
`)
	require.NoError(t, err)
	assert.Equal(t, []Phase{
		{Name: "up", Duration: 20 * time.Second, Rate: 100, RampTo: 1500},
		{Name: "phase 2", Duration: 2 * time.Minute, Rate: 0.5, RampTo: 0.5, Count: 60, Measured: true},
		{Name: "phase 3", Duration: 5 * time.Second, Measured: true},
	}, p.Phases)
	assert.False(t, p.Closed())
	assert.Equal(t, []Flow{{Name: "room", Weight: 2, Target: "room", Targets: 10, Messages: 3, Deliveries: 5,
		PayloadBytes: 9}}, p.Flows)
	assert.Equal(t, 5, p.Subscribers())
	assert.Equal(t, 145*time.Second, p.Duration())
}

func TestShippedProfilesAreValid(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ramp.yml", "smoke.yml"} {
		text, err := os.ReadFile("../../../../scenarios/profiles/" + name)
		require.NoError(t, err)
		_, err = Parse(name, string(text))
		require.NoError(t, err)
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ text, want string }{
		"empty":       {"", "profile p.yml is empty; allowed keys: phases, flows"},
		"not YAML":    {"a: [", "profile p.yml: not YAML: line 1: did not find expected node content"},
		"unknown key": {"phases:\n  - {duration: 1, arivalRate: 3}\n" + flows, `profile p.yml: line 2: unknown key "arivalRate" in phase; allowed: arrivalCount, arrivalRate, drain, duration, measured, name, pause, rampTo, requests, vus`},
		"negative rate": {"phases:\n  - {duration: 1, arrivalRate: -3}\n" + flows,
			"profile p.yml: line 2: -3 is outside 0 to 1e+09 (arrivalRate)"},
		"not a number": {"phases:\n  - {duration: 1, arrivalRate: many}\n" + flows,
			`profile p.yml: line 2: "many" is not a number (arrivalRate)`},
		"bad duration": {"phases:\n  - {duration: soon, arrivalRate: 1}\n" + flows,
			`profile p.yml: line 2: "soon" is not a duration: seconds, or a number with ms, s, m or h (duration)`},
		"no duration": {"phases:\n  - {arrivalRate: 1}\n" + flows,
			`profile p.yml: line 2: phase "": duration is missing or 0: a time above 0, in seconds or like 2m`},
		"pause of 0": {"phases:\n  - {pause: 0}\n" + flows,
			`profile p.yml: line 2: phase "": pause is 0: a time above 0, in seconds or like 2m`},
		"no rate": {"phases:\n  - {duration: 1}\n" + flows,
			`profile p.yml: line 2: phase "": arrivalRate, arrivalCount, vus or pause is missing`},
		"two kinds of rate": {"phases:\n  - {duration: 1, arrivalRate: 1, arrivalCount: 2}\n" + flows,
			`profile p.yml: line 2: phase "": arrivalCount and arrivalRate exclude each other`},
		"nothing to send": {"phases: [{duration: 1, arrivalRate: 0}]\n" + flows, "profile p.yml: the phases hold no request: every rate is 0"},
		"too many requests": {"phases: [{duration: 1000, arrivalRate: 1e8}]\n" + flows,
			"profile p.yml: the phases hold 1e+11 requests; at most 1e+09 are allowed"},
		"no flows": {"phases: [{duration: 1, arrivalRate: 1}]\n", "profile p.yml: flows is missing: a list of at least one flow"},
		"weights of 0": {"phases: [{duration: 1, arrivalRate: 1}]\nflows: [{name: a, weight: 0}]\n",
			"profile p.yml: the weights of the flows sum to 0; at least one must be above 0"},
		"wildcard target": {"phases: [{duration: 1, arrivalRate: 1}]\nflows: [{name: a, target: 'x/#'}]\n",
			`profile p.yml: line 2: flow "a": target "x/#": letters, digits, _ . - and single / between them are allowed`},
		"fractional messages": {"phases: [{duration: 1, arrivalRate: 1}]\nflows: [{name: a, messages: 1.5}]\n",
			"profile p.yml: line 2: 1.5 is not a whole number (messages)"},
		"duplicate phase name": {"phases: [{name: x, duration: 1, arrivalRate: 1}, {name: x, duration: 1, arrivalRate: 1}]\n" + flows,
			`profile p.yml: two phases are named "x"`},
		"one target, two fan-outs": {"phases: [{duration: 1, arrivalRate: 1}]\nflows: [{name: a}, {name: b, deliveries: 2}]\n",
			`profile p.yml: flows "a" and "b" share the target "user" but differ in targets or deliveries`},
		"no VUs":         {"phases:\n  - {duration: 1, vus: 0}\n" + flows, "profile p.yml: line 2: 0 is outside 1 to 10000 (vus)"},
		"too many VUs":   {"phases:\n  - {duration: 1, vus: 10001}\n" + flows, "profile p.yml: line 2: 10001 is outside 1 to 10000 (vus)"},
		"fractional VUs": {"phases:\n  - {duration: 1, vus: 1.5}\n" + flows, "profile p.yml: line 2: 1.5 is not a whole number (vus)"},
		"VUs and a rate": {"phases:\n  - {duration: 1, vus: 1, arrivalRate: 1}\n" + flows,
			`profile p.yml: line 2: phase "": vus means a closed load, which has no arrivalRate, rampTo or arrivalCount`},
		"VUs in a pause": {"phases:\n  - {pause: 1, vus: 1}\n" + flows,
			`profile p.yml: line 2: phase "": a pause has no duration, arrivalRate, rampTo, arrivalCount or vus`},
		"open and closed": {"phases: [{name: a, duration: 1, vus: 1}, {pause: 1}, {name: b, duration: 1, arrivalRate: 1}]\n" + flows,
			`profile p.yml: phase "b" has an arrival rate and phase "a" has vus; allowed is one kind in a profile, and pauses`},
		"too many phases": {"phases: [" + strings.Repeat("{duration: 1, vus: 1},", 1001) + "]\n" + flows,
			"profile p.yml: there are 1001 phases; at most 1000 are allowed"},
		"duplicate key": {"phases:\n  - duration: 1\n    arrivalRate: 100\n    arrivalRate: 10\n" + flows,
			`profile p.yml: line 4: phase has "arrivalRate" twice, here and in line 3`},
		// Regression: it meant measured: false, and the phase's latencies were left out.
		"measured without value": {"phases:\n  - duration: 1\n    arrivalRate: 1\n    measured:\n" + flows,
			`profile p.yml: line 4: "" is neither true nor false (measured)`},
		// regression: left out
		"two documents": {"phases: [{duration: 1, arrivalRate: 1}]\n" + flows + "---\nphases: [{duration: 9, arrivalRate: 9}]\n",
			"profile p.yml: line 3: a second document; allowed is one"},
		"phases not a list": {"phases: 3\n" + flows, "profile p.yml: line 1: phases is not a list (phases)"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("p.yml", c.text)
			require.Error(t, err)
			assert.Equal(t, c.want, err.Error())
		})
	}
}

// Artillery's parser merges, so the same file must mean the same to k6.
func TestMergeKeysAreMerged(t *testing.T) {
	p, err := Parse("p", `
phases:
  - &base { name: one, duration: 1, arrivalRate: 5 }
  - { <<: *base, name: two }
  - <<: [{ name: three, rampTo: 9 }, *base]
flows: [&f { name: f, target: a }, { <<: *f, name: g }]
`)
	require.NoError(t, err)
	assert.Equal(t, []string{"one", "two", "three"}, []string{p.Phases[0].Name, p.Phases[1].Name, p.Phases[2].Name})
	assert.InDelta(t, 5, p.Phases[1].Rate, 0)
	assert.InDelta(t, 9, p.Phases[2].RampTo, 0)
	assert.Equal(t, "a", p.Flows[1].Target)

	_, err = Parse("p", "phases: [{<<: 3, duration: 1}]\nflows: [{name: f}]")
	require.ErrorContains(t, err, "line 1: <<")
	_, err = Parse("p", "phases: [&a {<<: *a, duration: 1}]\nflows: [{name: f}]")
	require.Error(t, err, "an anchor that contains itself")
}

func TestAnEmptySecondDocumentIsNone(t *testing.T) {
	t.Parallel()
	_, err := Parse("p.yml", "---\nphases: [{duration: 1, arrivalRate: 1}]\n"+flows+"---\n")
	require.NoError(t, err)
}

func TestAClosedProfileHasVUsAndPauses(t *testing.T) {
	t.Parallel()
	p, err := Parse("p.yml", "phases: [{name: one, duration: 2, vus: 1}, {pause: 1}, {name: many, duration: 3s, vus: 10000, measured: false}]\n"+flows)
	require.NoError(t, err)
	assert.True(t, p.Closed())
	assert.Equal(t, []Phase{
		{Name: "one", Duration: 2 * time.Second, Measured: true, VUs: 1},
		{Name: "phase 2", Duration: time.Second, Measured: true},
		{Name: "many", Duration: 3 * time.Second, VUs: 10_000},
	}, p.Phases)

	require.NoError(t, p.Override("one", map[string]any{"vus": "25", "duration": "1m"}))
	assert.Equal(t, Phase{Name: "one", Duration: time.Minute, Measured: true, VUs: 25}, p.Phases[0])
	assert.EqualError(t, p.Override("many", map[string]any{"arrivalRate": 100}),
		`phase "many" has vus and an arrival rate; allowed is the one or the other`)
}

func TestRequestsAndDrainOfAClosedProfile(t *testing.T) {
	t.Parallel()
	p, err := Parse("p.yml",
		"phases: [{name: one, duration: 60, vus: 2, requests: 500, drain: 30s}, {name: two, duration: 1, vus: 7}]\n"+flows)
	require.NoError(t, err)
	assert.Equal(t, Phase{Name: "one", Duration: time.Minute, Measured: true, VUs: 2, Requests: 500,
		Drain: 30 * time.Second}, p.Phases[0])
	assert.Equal(t, 7, p.Most())
	assert.Equal(t, 30*time.Second, p.Drains())
	for _, phase := range []string{"{duration: 1, arrivalRate: 1, drain: 3}", "{pause: 1, requests: 3}"} {
		_, err = Parse("p.yml", "phases: ["+phase+"]\n"+flows)
		assert.ErrorContains(t, err, "requests and drain belong to a closed load: vus is missing beside them")
	}
}

func TestOverride(t *testing.T) {
	t.Parallel()
	parse := func() *Profile {
		p, err := Parse("p.yml",
			"phases: [{name: up, duration: 1, arrivalRate: 1, rampTo: 2}, {name: hold, duration: 1, arrivalRate: 2}]\n"+flows)
		require.NoError(t, err)
		return p
	}
	p := parse()
	require.NoError(t, p.Override("up", map[string]any{"rampTo": "30", "duration": "", "arrivalRate": nil}))
	require.NoError(t, p.Override("hold", map[string]any{"arrivalRate": 30, "duration": "1m"}))
	assert.Equal(t, Phase{Name: "up", Duration: time.Second, Rate: 1, RampTo: 30, Measured: true}, p.Phases[0])
	assert.Equal(t, Phase{Name: "hold", Duration: time.Minute, Rate: 30, RampTo: 30, Measured: true}, p.Phases[1])

	counted, err := Parse("p.yml", "phases: [{name: hold, duration: 10, arrivalCount: 100}]\n"+flows)
	require.NoError(t, err)
	require.NoError(t, counted.Override("hold", map[string]any{"duration": 50}))
	assert.Equal(t, 2.0, counted.Phases[0].Rate, "the same requests over more time")
	assert.False(t, counted.Phases[0].Ramps())
	require.NoError(t, counted.Override("hold", map[string]any{"duration": 20, "arrivalRate": 3}))
	assert.Equal(t, Phase{Name: "hold", Duration: 20 * time.Second, Rate: 3, RampTo: 3, Measured: true},
		counted.Phases[0])

	for want, set := range map[string]map[string]any{
		`phase "hold", arrivalRate: -4 is outside 0 to 1e+09`:                       {"arrivalRate": "-4"},
		`phase "hold", duration: 0 is not above 0`:                                  {"duration": "0"},
		`phase "hold", rate: unknown; allowed: duration, arrivalRate, rampTo, vus`:  {"rate": 1},
		`phase "hold", vus: 0 is outside 1 to 10000`:                                {"vus": 0},
		`phase "hold" has vus and an arrival rate; allowed is the one or the other`: {"vus": 5},
	} {
		assert.EqualError(t, parse().Override("hold", set), want)
	}
	assert.EqualError(t, parse().Override("sustained", map[string]any{"duration": 3}),
		`profile p.yml has no phase "sustained"; it has: up, hold`)
	// Regression: ramp.js overrides its own phases without values. That refused a user's profile.
	require.NoError(t, parse().Override("sustained", map[string]any{"duration": "", "arrivalRate": nil}))
}

func TestOverrideFlows(t *testing.T) {
	t.Parallel()
	parse := func() *Profile {
		p, err := Parse("p.yml", "phases: [{duration: 1, arrivalRate: 1}]\nflows: [{name: a}, {name: b, messages: 10}, {name: c, target: room, targets: 20, deliveries: 5}]\n")
		require.NoError(t, err)
		return p
	}
	p := parse()
	require.NoError(t, p.OverrideFlows(map[string]any{"payloadBytes": 1_048_576.0, "targets": "7"}))
	for _, f := range p.Flows {
		assert.Equal(t, []int{1 << 20, 7}, []int{f.PayloadBytes, f.Targets}, f.Name)
	}
	q := parse()
	require.NoError(t, q.OverrideFlows(map[string]any{"payloadBytes": "", "targets": nil}))
	assert.Equal(t, parse(), q)
	for want, set := range map[string]map[string]any{
		"every flow, payloadBytes: -1 is outside 0 to 1.048576e+06":   {"payloadBytes": -1},
		`every flow, targets: "x" is not a number`:                    {"targets": "x"},
		"every flow, weight: unknown; allowed: payloadBytes, targets": {"weight": 1},
	} {
		assert.EqualError(t, parse().OverrideFlows(set), want)
	}
}

func TestReplaceFlows(t *testing.T) {
	t.Parallel()
	parse := func() *Profile {
		p, err := Parse("p.yml", "phases: [{duration: 1, arrivalRate: 1}]\nflows: [{name: a}, {name: b, messages: 10}]\n")
		require.NoError(t, err)
		return p
	}
	p := parse()
	require.NoError(t, p.ReplaceFlows(nil))
	assert.Equal(t, parse(), p)
	require.NoError(t, p.ReplaceFlows([]map[string]any{{"name": "own", "target": "shop", "deliveries": 2.0,
		"payloadBytes": 1_048_576.0, "targets": 100_000.0}}))
	assert.Equal(t, []Flow{{Name: "own", Weight: 1, Target: "shop", Targets: 100_000, Messages: 1, Deliveries: 2,
		PayloadBytes: 1 << 20}}, p.Flows)
	for want, flow := range map[string]map[string]any{
		"flow has no name":              {},
		`unknown key "tragets" in flow`: {"name": "a", "tragets": 3},
		`two flows are named "a"`:       {"name": "a"},
	} {
		assert.ErrorContains(t, parse().ReplaceFlows([]map[string]any{{"name": "a"}, flow}), want)
	}
}

func TestTargetsAreNumberedOnce(t *testing.T) {
	t.Parallel()
	numbers := NewTargets(
		[]Flow{{Target: "user", Targets: 3}, {Target: "a/room", Targets: 2}, {Target: "user", Targets: 3}})
	assert.Equal(t, []int{5, 0, 3, 0}, []int{numbers.Total(), numbers.First(0), numbers.First(1), numbers.First(2)})
	for target := range 5 {
		number, known := numbers.Number([]byte(numbers.Name(target)))
		assert.Equal(t, []any{target, true}, []any{number, known}, numbers.Name(target))
	}
	for _, name := range []string{"", "/", "user", "user/", "user/3", "user/-1", "user/+1", "user/01", "room/0",
		"a/room/2",
		"user/0/1", "user/99999999999999999999"} {
		_, known := numbers.Number([]byte(name))
		assert.False(t, known, name)
	}
	named := Flow{}
	named.SetNames([]string{"berlin", "user/7", "rome"})
	numbers = NewTargets([]Flow{{Target: "user", Targets: 3}, named})
	for target := range 6 {
		number, known := numbers.Number([]byte(numbers.Name(target)))
		assert.Equal(t, []any{target, true}, []any{number, known}, numbers.Name(target))
	}
}

// Regression: each target had a slash (user/0), so that a filter like site/+/telemetry could never match.
func TestTargetsHaveNames(t *testing.T) {
	t.Parallel()
	const phases = "phases: [{duration: 1, arrivalRate: 1}]\n"
	p, err := Parse("p.yml", phases+"flows: [{name: a, targets: [berlin, site/rome, 'aa:bb:0c']}, {name: b}]")
	require.NoError(t, err)
	named := func(f Flow) (all []string) {
		for i := range f.Targets {
			all = append(all, f.TargetOf(i))
		}
		return all
	}
	assert.Equal(t, []string{"berlin", "site/rome", "aa:bb:0c"}, named(p.Flows[0]))
	assert.Equal(t, "user/99", p.Flows[1].TargetOf(99))

	require.NoError(t, p.OverrideFlows(map[string]any{"targets": []any{"x", "y"}}))
	assert.Equal(t, []string{"x", "y"}, named(p.Flows[1]))
	require.NoError(t, p.OverrideFlows(map[string]any{"targets": "2"}))
	assert.Equal(t, []string{"user/0", "user/1"}, named(p.Flows[0]))

	for text, want := range map[string]string{
		"flows: [{name: a, targets: [berlin, 'x/#']}]":                             `line 2: name 2, "x/#": letters, digits, _ . : @ ~ -`,
		"flows: [{name: a, targets: [berlin, berlin]}]":                            `name 2, "berlin", is listed twice`,
		"flows: [{name: a, targets: []}]":                                          "0 names are outside 1 to 100000",
		"flows: [{name: a, target: x, targets: [y]}]":                              "one of them is allowed",
		"flows: [{name: a, targets: [[x]]}]":                                       "not a text",
		"flows: [{name: a, targets: [x]}, {name: b, targets: [x, y]}]":             `share the target "x"`,
		"flows: [{name: a}, {name: b, targets: [user/100, user/99]}]":              `share the target "user/99"`,
		"flows: [{name: a, targets: [x]}, {name: b, targets: [x], deliveries: 2}]": "differ in targets or deliveries",
	} {
		_, err := Parse("p.yml", phases+text)
		assert.ErrorContains(t, err, want, text)
	}
}

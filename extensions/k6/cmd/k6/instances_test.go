package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// environment looks up variables in "A=1 B=2".
func environment(text string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, pair := range strings.Fields(text) {
			if value, found := strings.CutPrefix(pair, name+"="); found {
				return value, true
			}
		}
		return "", false
	}
}

const secondOfFour = "--execution-segment-sequence 0,1/4,2/4,3/4,1 --execution-segment 1/4:2/4 --tag generator=2"

func TestTheEnvironmentSaysWhichInstanceThisIs(t *testing.T) {
	t.Parallel()
	for variables, want := range map[string]string{
		"":                                   "",
		"JOB_COMPLETION_INDEX=1":             "", // an Indexed Job whose pods have a run each
		"INSTANCES=1 INSTANCE=0":             "",
		"INSTANCES=4 INSTANCE=1":             secondOfFour,
		"INSTANCES=4 JOB_COMPLETION_INDEX=1": secondOfFour,
		"INSTANCES=4 INSTANCE=1 JOB_COMPLETION_INDEX=3": secondOfFour,
		"INSTANCES=2 INSTANCE=0":                        "--execution-segment-sequence 0,1/2,1 --execution-segment 0:1/2 --tag generator=1",
		"K6_EXECUTION_SEGMENT=0:1/4":                    "--execution-segment 0:1/4", // regression: it sent everything
	} {
		p, err := partOf([]string{"k6", "run", "ramp.js"}, environment(variables))
		require.NoError(t, err, variables)
		assert.Equal(t, want, strings.Join(p.flags, " "), variables)
	}
	p, err := partOf([]string{"k6", "inspect", "ramp.js"}, environment("INSTANCES=4 INSTANCE=1"))
	require.NoError(t, err)
	assert.Empty(t, p.flags, "only a run is divided")
	p, err = partOf([]string{"k6", "run", "--execution-segment=0:1/2"}, environment("K6_EXECUTION_SEGMENT=0:1/4"))
	require.NoError(t, err)
	assert.Empty(t, p.flags, "the command line comes first, as for all of k6's variables")
}

func TestAnInstanceThatIsNotSaidExactlyIsRefused(t *testing.T) {
	t.Parallel()
	for variables, want := range map[string]string{
		"INSTANCES=4":                                       "INSTANCE is missing: each instance has its own number, from 0 to 3",
		"INSTANCES=4 INSTANCE=4":                            `INSTANCE is "4"; allowed with INSTANCES=4: 0 to 3`,
		"INSTANCES=4 INSTANCE=-1":                           `INSTANCE is "-1"`,
		"INSTANCES=4 INSTANCE=1/4":                          `INSTANCE is "1/4"`,
		"INSTANCES=1 INSTANCE=1":                            `INSTANCE is "1"`,
		"INSTANCES=2 JOB_COMPLETION_INDEX=2":                `JOB_COMPLETION_INDEX is "2"`,
		"INSTANCES=0 INSTANCE=0":                            `INSTANCES is "0"; allowed: 1 to 1000`,
		"INSTANCES=four INSTANCE=0":                         `INSTANCES is "four"`,
		"INSTANCES= INSTANCE=0":                             `INSTANCES is ""`,
		"INSTANCE=1":                                        "INSTANCES is not",
		"INSTANCES=4 INSTANCE=1 K6_EXECUTION_SEGMENT=0:1/4": "one of them is allowed",
	} {
		_, err := partOf([]string{"k6", "run", "ramp.js"}, environment(variables))
		assert.ErrorContains(t, err, want, variables)
	}
	_, err := partOf([]string{"k6", "run", "--execution-segment", "0:1/2"}, environment("INSTANCES=2 INSTANCE=0"))
	assert.ErrorContains(t, err, "one of them is allowed")
}

func TestVariableIsThatOfTheScript(t *testing.T) {
	t.Setenv("RUN_DIR", "of/the/system")
	for line, want := range map[string]string{
		"run x.js": "of/the/system", "run -e RUN_DIR=a x.js": "a", "run --env RUN_DIR=b x.js": "b", "run --env=RUN_DIR=c x.js": "c",
		"run -eRUN_DIR=d x.js": "d", "run -e=RUN_DIR=e x.js": "e", "run --tag RUN_DIR=f x.js": "of/the/system",
	} {
		assert.Equal(t, want, variable(strings.Fields(line), "RUN_DIR"), line)
	}
}

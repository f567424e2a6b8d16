package command

import (
	"bufio"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"

	"github.com/arrival-bench/arrival/extensions/k6/internal/settings"
)

// tryScript is scenarios/lib/try.js with what it imports: the settings of scripts become options of a run there.
//
//go:embed try.gen.js
var tryScript string

// tryMost bounds --timeout.
const tryMost = time.Hour

func newTry(gs *state.GlobalState) *cobra.Command {
	var variables []string
	var timeout time.Duration
	var schema bool
	c := &cobra.Command{
		Use:   "try [pipeline.yml]",
		Short: "Let one message go round a pipeline, and print each step",
		Long: `Lets one message go round a pipeline of your own, and prints step by step what it sees: what it connects to, what it posts,
the answer, where and when the message arrives, and where its id stands. It ends where the message does, with the cause. A run of a
script begins the same way.

A pipeline file has where messages go in and come out; scenarios/README.md describes it, and --schema prints its JSON schema, for
editors. Without a file the settings of the environment are used. A flag (-e) stands before the file; a variable of the environment
that says something else than the file is refused.

Exit code:
  0    the message went round
  99   it did not
  1    the file, or a setting, is wrong
  105  interrupted`,
		Example: "  k6 x arrival try my.yml\n  INGEST_URL=http://127.0.0.1:8080 MQTT_URL=mqtt://127.0.0.1 k6 x arrival try -e TOPIC_PREFIX=events/",
		Args: func(_ *cobra.Command, given []string) error {
			if len(given) > 1 {
				return errext.WithExitCodeIfNone(fmt.Errorf("try takes one pipeline file, and there are %d; --help says more",
					len(given)), wrong)
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if schema {
				_, err := gs.Stdout.Write(settings.Schema)
				return err
			}
			if timeout < time.Second || timeout > tryMost {
				return errext.WithExitCodeIfNone(fmt.Errorf("--timeout is %s; allowed: 1s to %s", timeout, tryMost), wrong)
			}
			env, err := tryEnvironment(gs, args, variables)
			if err != nil {
				return errext.WithExitCodeIfNone(err, wrong)
			}
			env["TRY_TIMEOUT"] = strconv.FormatFloat(timeout.Seconds(), 'f', -1, 64)
			if code := try(gs, env, variables); code != 0 {
				gs.OSExit(code)
			}
			return nil
		},
	}
	c.Flags().StringArrayVarP(&variables, "env", "e", nil, "a setting, as `NAME=value`; may be repeated")
	c.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "how long all of it may take")
	c.Flags().BoolVar(&schema, "schema", false, "print the JSON schema of pipeline files")
	return c
}

// ofLoads are variables that say what part of a load a k6 has, or where it leaves its run: a try has neither.
var ofLoads = []string{"INSTANCES", "INSTANCE", "RUN_DIR", "RUN_ID", "K6_VUS", "K6_DURATION", "K6_ITERATIONS",
	"K6_STAGES", "K6_OUT", "K6_EXECUTION_SEGMENT", "K6_EXECUTION_SEGMENT_SEQUENCE"}

// tryEnvironment is the environment of a try: k6's own with the settings of a file.
func tryEnvironment(gs *state.GlobalState, args, variables []string) (map[string]string, error) {
	env := maps.Clone(gs.Env)
	for _, name := range ofLoads {
		delete(env, name)
	}
	env[state.AutoExtensionResolution] = "false" // this k6 has what the script imports
	given := map[string]string{}
	for _, one := range variables {
		name, value, ok := strings.Cut(one, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("-e %s sets nothing; allowed: -e NAME=value", one)
		}
		given[name] = value
	}
	env["ARRIVAL_GIVEN"] = strings.Join(slices.Sorted(maps.Keys(given)), ",") // the script refuses unknown ones
	if len(args) > 0 {
		all, err := settingsOf(gs, args[0], slices.Collect(maps.Keys(given)))
		if err != nil {
			return nil, err
		}
		for _, s := range all {
			env[s.Name] = s.Value
		}
	}
	if env["INGEST_URL"] == "" && given["INGEST_URL"] == "" {
		return nil, errors.New("where are messages posted? allowed: a pipeline file, or INGEST_URL in the environment")
	}
	for _, name := range settings.Files() { // the script has no folder of its own
		path := cmp.Or(given[name], env[name])
		if path == "" {
			continue
		}
		absolute, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		env[name] = absolute
		for i, one := range variables {
			if strings.HasPrefix(one, name+"=") {
				variables[i] = name + "=" + absolute
			}
		}
	}
	return env, nil
}

// try runs the script in a k6 of its own, and returns the exit code.
func try(gs *state.GlobalState, env map[string]string, variables []string) int {
	binary, err := os.Executable()
	if err != nil {
		gs.Logger.Error(err)
		return int(wrong)
	}
	args := []string{"run", "--quiet", "--no-color", "--log-format", "raw", "--address", "", "--no-usage-report",
		"--include-system-env-vars"}
	for _, one := range variables {
		args = append(args, "-e", one)
	}
	child := exec.Command(binary, append(args, "-")...)
	for name, value := range env {
		child.Env = append(child.Env, name+"="+value)
	}
	lines, errors := io.Pipe()
	child.Stdin, child.Stdout, child.Stderr = strings.NewReader(tryScript), gs.Stdout, errors
	printed := make(chan struct{})
	go func() {
		defer close(printed)
		plainly(lines, gs.Stderr)
	}()
	code, err := RunChild(child)
	_ = errors.Close()
	<-printed
	if err != nil {
		gs.Logger.Error(err)
	}
	switch code {
	case 0, notPassed, int(exitcodes.ExternalAbort):
		return code
	}
	return int(wrong)
}

// stack matches what k6 adds to the message of a script's error.
var stack = regexp.MustCompile(`^(?:\w*Error: )+|\s+at (?:\S+ \()?(?:file:|github\.com|native|reflect).*$`)

// plainly copies lines, without the stack traces of a script whose users have not written it.
func plainly(from io.Reader, to io.Writer) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if line = stack.ReplaceAllString(strings.TrimRight(line, "\r\n"), ""); strings.TrimSpace(line) != "" {
			fmt.Fprintln(to, line)
		}
		if err != nil {
			return
		}
	}
}

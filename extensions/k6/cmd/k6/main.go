// Command k6 is k6 with this project's extensions and grafana/xk6-redis built in.
package main

import (
	"fmt"
	"os"
	"strings"

	"go.k6.io/k6/v2/cmd"
	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/ext"

	_ "github.com/arrival-bench/arrival/extensions/k6" // k6/x/arrival, k6 x arrival
	"github.com/arrival-bench/arrival/extensions/k6/internal/command"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	_ "github.com/arrival-bench/arrival/extensions/k6/mqtt" // k6/x/mqtt
	_ "github.com/grafana/xk6-redis"                        // k6/x/redis
)

// hash is the hash of the sources, set by: go build -ldflags "-X main.hash=…".
var hash string

func main() {
	if binary, err := os.Executable(); err == nil {
		if err := checkSources(binary, hash); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if len(os.Args) > 2 && os.Args[1] == "x" && os.Args[2] == command.Name {
		stayOffline()
	}
	args, err := setPipeline(os.Args)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Args = args
	share, err := partOf(os.Args, os.LookupEnv)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Args = append(os.Args, share.flags...)
	if share.of > 1 {
		if binary, err := os.Executable(); err == nil {
			os.Exit(runShare(binary, os.Args, share))
		}
	}
	_ = os.Setenv("ARRIVAL_GIVEN", strings.Join(given(os.Args), ","))
	nameVersion()
	cmd.Execute()
}

// nameVersion sets the version of this module's extensions. k6 reads the versions of other modules from the build
// information, where the main module has none.
func nameVersion() {
	for _, extension := range ext.GetAll() {
		if extension.Version == "" {
			extension.Version = "v" + runfile.Version
		}
	}
}

// given names the variables that -e and --env set, so that a script can refuse unknown ones: __ENV also has all
// variables of the system.
func given(args []string) (names []string) {
	for i, arg := range args {
		text, found := strings.CutPrefix(arg, "--env=")
		if !found && !strings.HasPrefix(arg, "--") {
			text, found = strings.CutPrefix(arg, "-e")
			text = strings.TrimPrefix(text, "=") // -e=NAME=value
		}
		if (arg == "-e" || arg == "--env") && i+1 < len(args) {
			text, found = args[i+1], true
		}
		if name, _, _ := strings.Cut(text, "="); found && name != "" {
			names = append(names, name)
		}
	}
	return names
}

// stayOffline keeps k6 from looking up other commands on the internet and from reporting its use, unless the
// environment sets either.
func stayOffline() {
	for name, value := range map[string]string{state.AutoExtensionResolution: "false", "K6_NO_USAGE_REPORT": "true"} {
		if _, set := os.LookupEnv(name); !set {
			_ = os.Setenv(name, value)
		}
	}
}

package main

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/settings"
)

// pipelineFlag is the flag of `k6 run` for a pipeline file, whose settings become variables of the environment.
const pipelineFlag = "--pipeline"

// withPipeline takes the flag from the arguments of a `k6 run`, and returns the settings of its file.
func withPipeline(args []string, lookup settings.Lookup) (rest []string, all []settings.Setting, err error) {
	at := slices.IndexFunc(args, func(arg string) bool {
		return arg == pipelineFlag || strings.HasPrefix(arg, pipelineFlag+"=")
	})
	if at < 0 || args[1] != "run" {
		return args, nil, nil
	}
	_, path, joined := strings.Cut(args[at], "=")
	after := args[at+1:]
	if !joined && len(after) > 0 {
		path, after = after[0], after[1:]
	}
	if path == "" {
		return nil, nil, errors.New(pipelineFlag + " has no value; allowed: a pipeline file, like my.yml")
	}
	rest = slices.Concat(args[:at], after)
	if all, err = settings.Read(path, lookup); err == nil {
		all, err = settings.Effective(all, given(rest), lookup)
	}
	return rest, all, err
}

// setPipeline is withPipeline for this process.
func setPipeline(args []string) ([]string, error) {
	rest, all, err := withPipeline(args, os.LookupEnv)
	for _, s := range all {
		err = errors.Join(err, os.Setenv(s.Name, s.Value))
	}
	return rest, err
}

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/command"
	"github.com/arrival-bench/arrival/extensions/k6/internal/segment"
)

// These variables of the environment say which instance of a run a k6 is.
const (
	instances = "INSTANCES"            // how many share the run
	instance  = "INSTANCE"             // which one this is, from 0
	jobIndex  = "JOB_COMPLETION_INDEX" // set in an Indexed Job of Kubernetes; the default of INSTANCE
	runDir    = "RUN_DIR"
)

// mostInstances is far above any run's; a larger number is a mistake.
const mostInstances = 1000

// part is the environment's description of this instance.
type part struct {
	flags []string // k6's flags for its segment; none: it does the whole run, or its command line says what

	number, of int // this instance, from 0, of how many; of 0: the environment does not say
}

// partOf reads which part of a run a `k6 run` has. k6 itself takes a segment from its command line only.
func partOf(args []string, lookup func(string) (string, bool)) (part, error) {
	if len(args) < 2 || args[1] != "run" {
		return part{}, nil
	}
	flags := segmentFlags(lookup)
	given := slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, segment.Flag) })
	count, shared := lookup(instances)
	if !shared {
		if _, alone := lookup(instance); alone {
			return part{}, fmt.Errorf("%s is set and %s is not: how many instances share the run?", instance, instances)
		}
		if given {
			return part{}, nil // k6 prefers its command line to the environment
		}
		return part{flags: flags}, nil
	}
	if given || len(flags) > 0 {
		return part{}, fmt.Errorf("%s and an execution segment both say which part of the run this k6 has: "+
			"one of them is allowed", instances)
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 || n > mostInstances {
		return part{}, fmt.Errorf("%s is %q; allowed: 1 to %d", instances, count, mostInstances)
	}
	name := instance
	text, found := lookup(instance)
	if !found {
		name = jobIndex
		text, found = lookup(jobIndex)
	}
	if !found {
		return part{}, fmt.Errorf("%s is %d and %s is missing: each instance has its own number, from 0 to %d "+
			"(an Indexed Job says it in %s)",
			instances, n, instance, n-1, jobIndex)
	}
	i, err := strconv.Atoi(text)
	if err != nil || i < 0 || i >= n {
		return part{}, fmt.Errorf("%s is %q; allowed with %s=%d: 0 to %d", name, text, instances, n, n-1)
	}
	if n == 1 {
		return part{}, nil
	}
	return part{flags: equalShare(i, n), number: i, of: n}, nil
}

// segmentFlags are the flags for k6's own variables of a segment.
func segmentFlags(lookup func(string) (string, bool)) (flags []string) {
	for name, flag := range map[string]string{
		"K6_EXECUTION_SEGMENT": segment.Flag, "K6_EXECUTION_SEGMENT_SEQUENCE": segment.SequenceFlag,
	} {
		if value, _ := lookup(name); value != "" {
			flags = append(flags, flag, value)
		}
	}
	return flags
}

// equalShare are k6's flags for instance i of n, from 0, as scenarios/run/instances.ts makes them. The tag
// separates the instances' metrics in one database.
func equalShare(i, n int) []string {
	limits := make([]string, n+1)
	for j := range limits {
		limits[j] = fmt.Sprintf("%d/%d", j, n)
	}
	limits[0], limits[n] = "0", "1"
	return []string{
		segment.SequenceFlag, strings.Join(limits, ","), segment.Flag, limits[i] + ":" + limits[i+1],
		"--tag", fmt.Sprintf("generator=%d", i+1),
	}
}

// runShare runs k6 for this instance. The last instance of a run to end merges the reports of all, where they share
// a directory. It returns the exit code: k6's own, or that of the merged run.
func runShare(binary string, args []string, p part) int {
	code := runK6(binary, args)
	dir := variable(args, runDir)
	if dir == "" || !lastToEnd(dir, p) {
		return code
	}
	merged := runK6(binary, []string{args[0], "x", command.Name, "merge", dir})
	for n := range p.of {
		_ = os.Remove(filepath.Join(generatorDir(dir, n), endedMark))
	}
	_ = os.Remove(filepath.Join(dir, mergeLock))
	if code == 0 {
		code = merged
	}
	return code
}

// runK6 runs k6 as a child, and returns its exit code.
func runK6(binary string, args []string) int {
	child := exec.Command(binary, args[1:]...)
	child.Args[0] = args[0]
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	child.Env = slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return name == instances || name == instance
	})
	code, err := command.RunChild(child)
	if err != nil {
		fmt.Fprintln(os.Stderr, "k6:", err)
	}
	return code
}

// variable is a variable of a script: of -e or --env, else of the environment.
func variable(args []string, name string) string {
	value := os.Getenv(name)
	for i, arg := range args {
		follows := i > 0 && (args[i-1] == "-e" || args[i-1] == "--env")
		short := strings.TrimPrefix(strings.TrimPrefix(arg, "-e"), "=")
		for _, text := range []string{strings.TrimPrefix(arg, "--env="), short} {
			own, found := strings.CutPrefix(text, name+"=")
			if found && (text != arg || follows) {
				value = own
			}
		}
	}
	return value
}

// Files that are there until the instances' reports are merged.
const (
	endedMark = "ended"   // a file of an instance's directory: its k6 has ended, so its report is complete
	mergeLock = "merging" // a file of the run's directory: an instance merges the reports
)

func generatorDir(dir string, n int) string {
	return filepath.Join(dir, fmt.Sprintf("generator-%d", n+1))
}

// lastToEnd marks this instance as ended, and reports whether all have ended and nobody else merges their reports.
func lastToEnd(dir string, p part) bool {
	if err := os.WriteFile(filepath.Join(generatorDir(dir, p.number), endedMark), nil, 0o644); err != nil {
		return false // its run did not begin, so it has no directory
	}
	for n := range p.of {
		if _, err := os.Stat(filepath.Join(generatorDir(dir, n), endedMark)); err != nil {
			return false
		}
	}
	lock, err := os.OpenFile(filepath.Join(dir, mergeLock), os.O_CREATE|os.O_EXCL, 0o644)
	return err == nil && lock.Close() == nil
}

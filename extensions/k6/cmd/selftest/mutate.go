package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// module is the directory of the instrument's sources, relative to where the self-test runs.
const module = "extensions/k6"

// buildLimit is far above what the build of a mutant takes with a warm cache, and above that of an empty one.
const buildLimit = 10 * time.Minute

// breakAll builds each mutant whose name contains word, and demands that its truth sees it. Before, the truths must
// hold of the k6 that is not broken: else they prove nothing.
func breakAll(ctx context.Context, k6, word string) (int, error) {
	var selected []mutant
	for _, m := range mutants {
		if strings.Contains(m.name, word) {
			selected = append(selected, m)
		}
	}
	if len(selected) == 0 {
		return notTested, fmt.Errorf("--only %q: no mutant is named like that", word)
	}
	for _, m := range selected { // all of them, before the first build
		if _, err := m.source(module); err != nil {
			return notTested, err
		}
	}
	dir, err := runsDir()
	if err != nil {
		return notTested, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	in, err := prepare(k6, dir)
	if err != nil {
		return notTested, err
	}
	began := time.Now()
	tooBusy := map[string]string{} // why a case can't judge its mutants here
	for _, name := range casesOf(selected) {
		c := caseNamed(name)
		rows := c.try(func(attempt int) (*outcome, error) {
			return c.run(ctx, in, short, c.attemptDir(dir, attempt))
		}, func(string) {})
		if ctx.Err() != nil {
			return interrupted, errors.New("stopped")
		}
		if i := slices.IndexFunc(rows, func(r row) bool { return !r.ok && !r.open() }); i >= 0 {
			return notAll, fmt.Errorf("%s: %s, which proves nothing about mutants: expected %s, measured %s",
				name, rows[i].what, rows[i].expected, rows[i].measured)
		}
		if i := slices.IndexFunc(rows, row.open); i >= 0 {
			tooBusy[name] = fmt.Sprintf("%s %s", rows[i].what, rows[i].measured)
			continue
		}
		fmt.Printf("%-58s holds of k6 as it is\n", name)
	}
	fmt.Printf("\n%-50s seen by\n", "mutant")
	hold, open := 0, 0
	for i, m := range selected {
		if why, yes := tooBusy[m.in]; yes {
			open++
			fmt.Printf("%-50s open, the machine is too busy: %s\n", m.name, why)
			continue
		}
		seen, how := m.seen(ctx, in, filepath.Join(dir, "mutant-"+strconv.Itoa(i+1)))
		if ctx.Err() != nil {
			return interrupted, errors.New("stopped")
		}
		if seen {
			hold++
		}
		fmt.Printf("%-50s %s\n", m.name, how)
	}
	fmt.Printf("\n%d of %d mutants are seen, %d are open, in %.0f s\n", hold, len(selected), open,
		time.Since(began).Seconds())
	if hold+open < len(selected) {
		return notAll, nil
	}
	return allHold, nil
}

// casesOf are the cases of mutants, each once, in their order.
func casesOf(selected []mutant) (names []string) {
	for _, m := range selected {
		if !slices.Contains(names, m.in) {
			names = append(names, m.in)
		}
	}
	return names
}

// caseNamed is nil if there is none.
func caseNamed(name string) *testCase {
	all := allCases()
	i := slices.IndexFunc(all, func(c testCase) bool { return c.name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// source is the text of the mutant's file with the change. It is an error if the text to change is not there any more.
func (m mutant) source(module string) ([]byte, error) {
	path := filepath.Join(module, m.file)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the mutant %q: %w; the self-test runs in the repository's root", m.name, err)
	}
	if n := strings.Count(string(text), m.from); n != 1 {
		return nil, fmt.Errorf("the mutant %q changes a text that is %d times in %s, wanted is once: %s",
			m.name, n, path, m.from)
	}
	return []byte(strings.Replace(string(text), m.from, m.to, 1)), nil
}

// seen builds the mutant in a new directory, runs its case once, and reports whether the line that must see it does.
func (m mutant) seen(ctx context.Context, in instrument, dir string) (seen bool, how string) {
	defer func() { _ = os.RemoveAll(dir) }() // it takes 80 MB
	mutated := instrument{k6: filepath.Join(dir, "k6"), script: in.script}
	if err := m.build(ctx, mutated.k6); err != nil {
		return false, "NOT, as it can't be built: " + err.Error()
	}
	c := caseNamed(m.in)
	o, err := c.run(ctx, mutated, short, dir)
	rows := []row{}
	if err != nil {
		rows = append(rows, failed(err))
	} else {
		rows = c.check(o)
	}
	for _, r := range rows {
		if !r.ok && strings.HasPrefix(r.what+" ", m.by) {
			return true, fmt.Sprintf("%s: %s, expected %s", r.what, r.measured, r.expected)
		}
	}
	others := []string{}
	for _, r := range rows {
		if !r.ok {
			others = append(others, fmt.Sprintf("%s: %s", r.what, r.measured))
		}
	}
	return false, fmt.Sprintf("NOT by %q of %q; others: %s", m.by, m.in, cmp.Or(strings.Join(others, "; "), "none"))
}

// build builds k6 with the mutant. The compiler reads the changed file in place of the one in the sources, and
// recompiles only what depends on it.
func (m mutant) build(ctx context.Context, k6 string) error {
	ctx, cancel := context.WithTimeout(ctx, buildLimit)
	defer cancel()
	source, err := m.source(module)
	if err != nil {
		return err
	}
	dir := filepath.Dir(k6)
	original, err := filepath.Abs(filepath.Join(module, m.file))
	if err != nil {
		return err
	}
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	replaced, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err := errors.Join(err, os.MkdirAll(dir, 0o755), os.WriteFile(changed, source, 0o600),
		os.WriteFile(overlay, replaced, 0o600)); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "go", "build", "-C", module, "-buildvcs=false", "-overlay", overlay,
		"-ldflags", "-s -w", "-o", k6, "./cmd/k6").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

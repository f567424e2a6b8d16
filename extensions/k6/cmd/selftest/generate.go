package main

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// instrument is the tested program: the built k6 with its page.
type instrument struct{ k6, script string }

// generated is what one generator measured and what its pipeline did.
type generated struct {
	fake *fake.Pipeline
	log  []fake.Delivery
	run  *report.Run
	exit int // of k6; −1 where it was killed
	dir  string
}

// machine lists the beginnings of verdict reasons that depend on the machine: the generator was late or out of
// CPU, or the round trip to Redis took too long for the clock bound.
var machine = []string{"the generator was ", "the clock bound "}

func ofMachine(reason string) bool {
	return slices.ContainsFunc(machine, func(begin string) bool { return strings.HasPrefix(reason, begin) })
}

// late is the reason why the run doubts its own generator; "" if it does not.
func (g *generated) late() string {
	for _, reason := range g.run.Verdict.Reasons {
		if ofMachine(reason) {
			why, _, _ := strings.Cut(reason, ";") // the rest is advice
			return why
		}
	}
	return ""
}

// points is the file that a case with raw points has k6 write them to.
func (g *generated) points() string { return filepath.Join(g.dir, "points.json") }

// generate runs k6 against a pipeline as the case says, in a directory of its own.
func (in instrument) generate(ctx context.Context, c *testCase, f *fake.Pipeline, seconds int, dir string) (*generated, error) {
	half := make(chan struct{}) // closed where k6 is to be killed
	if c.kill > 0 {
		f.Status = func(nth int) int {
			if nth == c.kill {
				close(half)
			}
			return 202
		}
	}
	if err := f.Start(); err != nil {
		return nil, err
	}
	g := &generated{fake: f, dir: dir}
	err := must.Try(func() {
		must.Do(os.MkdirAll(dir, 0o755))
		g.exit = in.run(ctx, g, c, in.options(c, f, seconds, dir), half)
		g.log = f.Log()
		data, err := os.ReadFile(filepath.Join(dir, report.FileName))
		if err != nil {
			must.Fail("k6 ended with %d and left no report: %w", g.exit, err)
		}
		must.Do(json.Unmarshal(data, &g.run))
	})
	return g, errors.Join(err, f.Close())
}

func (in instrument) options(c *testCase, f *fake.Pipeline, seconds int, dir string) map[string]any {
	options := map[string]any{
		"name": "selftest", "dir": dir, "command": "npm run selftest",
		"profile": c.profileText(seconds),
		"ingest":  map[string]any{"url": f.IngestURL()}, "mqtt": map[string]any{"url": f.MQTTURL()},
		"canary": false, // its messages would enter the pipeline's counts
	}
	if f.Redis != nil {
		options["redis"] = map[string]any{"url": f.Redis.URL()}
	}
	maps.Copy(options, c.options)
	return options
}

// Package merge makes one run from the parts that several instances left, each a segment of the run. It estimates
// nothing: it adds counts and histograms, and internal/judge judges the whole.
package merge

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/render"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runs"
	"github.com/arrival-bench/arrival/extensions/k6/internal/traces"
)

const (
	instancesMost = 10_000
	secondsMost   = 10_000_000
)

// Instance is the run that one instance has recorded.
type Instance struct {
	Run *runfile.Run
	Log *runfile.Log
	dir string
}

func (p Instance) generator() *runfile.Generator { return p.Run.Run.Generator }

// read reads the part in a directory. It refuses what no run has and would take all memory: instancesMost is far
// above what anybody starts, and secondsMost four months.
func read(dir string) (Instance, error) {
	r, err := runs.Read(dir)
	if err != nil {
		return Instance{}, err
	}
	if r.Run.Generator == nil {
		what := "is a run of one instance"
		if r.Generators != nil {
			what = "has been merged already"
		}
		return Instance{}, fmt.Errorf("%s %s; merge takes what each instance of a run by segments has left", dir, what)
	}
	if g := r.Run.Generator; g.Number < 1 || g.Number > g.Of {
		return Instance{}, fmt.Errorf("%s is of generator %d of %d", dir, g.Number, g.Of)
	}
	if r.Run.Generator.Of > instancesMost {
		return Instance{}, fmt.Errorf("%s is one of %d instances; up to %d are merged", dir, r.Run.Generator.Of,
			instancesMost)
	}
	for _, row := range r.Timeline {
		if row.T < 0 || row.T > secondsMost {
			return Instance{}, fmt.Errorf("%s has a second %d in its timeline; up to %d are merged", dir, row.T,
				secondsMost)
		}
	}
	log, err := runfile.OpenLog(dir)
	return Instance{r, log, dir}, err
}

// order sorts the parts by number. It refuses parts of different runs, and the same part twice.
func order(parts []Instance) error {
	if len(parts) == 0 {
		return errors.New("there is nothing to merge")
	}
	slices.SortStableFunc(parts,
		func(a, b Instance) int { return cmp.Compare(a.generator().Number, b.generator().Number) })
	first := parts[0]
	for i, part := range parts[1:] {
		number := part.generator().Number
		if number == parts[i].generator().Number {
			return fmt.Errorf("generator %d is given twice", number)
		}
		for _, same := range inCommon {
			if mine, its := same.of(first), same.of(part); mine != its {
				known := ""
				if len(mine)+len(its) < 100 {
					known = fmt.Sprintf(" (%s, not %s)", its, mine)
				}
				return fmt.Errorf("generator %d has another %s than generator %d%s",
					number, same.what, first.generator().Number, known)
			}
		}
	}
	return nil
}

// inCommon is what the parts of one run share. The start is on the clock of Redis, so all parts have the same seconds.
var inCommon = []struct {
	what string
	of   func(p Instance) string
}{
	{"run", func(p Instance) string { return p.Run.Run.ID }},
	{"sequence of segments", func(p Instance) string { return p.generator().Sequence }},
	{"start", func(p Instance) string { return strconv.FormatInt(p.generator().StartUS, 10) }},
	{"profile", func(p Instance) string {
		text, _ := json.Marshal(p.Run.Run.Profile) // it came from JSON: no error
		return string(text)
	}},
	{"method", func(p Instance) string { return p.Run.Run.Method }},
	{"version of k6", func(p Instance) string { return p.Run.Run.Tool.Version }},
}

// requests is the number of requests of an open profile, as the pacer counts them; 0 in the closed model.
func requests(run runfile.Identity) int {
	if run.Model == runfile.Closed {
		return 0
	}
	p := &profile.Profile{Flows: []profile.Flow{{Weight: 1, Messages: 1}}}
	for _, phase := range run.Profile.Phases {
		ph := profile.Phase{Duration: time.Duration(phase.DurationS * float64(time.Second))}
		if phase.ArrivalRate != nil {
			ph.Rate, ph.RampTo = *phase.ArrivalRate, *cmp.Or(phase.RampTo, phase.ArrivalRate)
		}
		p.Phases = append(p.Phases, ph)
	}
	return pacer.New(p).Requests()
}

// ofGenerator matches the name of an instance's directory in that of its run.
var ofGenerator = regexp.MustCompile(`^generator-\d+$`)

// Directories merges the parts in the given directories, of instances or of whole runs, and writes the files of a
// run into out. If out is empty, it is the directory that holds all instances. Directories returns it.
func Directories(given []string, out string) (directory string, r *runfile.Run, err error) {
	err = must.Try(func() {
		dirs := instancesIn(given)
		if out == "" {
			out = must.Get(commonOf(dirs))
		}
		if out := must.Get(filepath.Abs(out)); slices.Contains(dirs, out) {
			must.Fail("--out is %s, which holds a part; allowed: another directory", out)
		}
		var parts []Instance
		for _, dir := range dirs {
			parts = append(parts, must.Get(read(dir)))
		}
		var log bytes.Buffer
		r = must.Get(Runs(parts, filepath.Base(must.Get(filepath.Abs(out))), &log))
		must.Do(os.MkdirAll(out, 0o755))
		spansOf(parts, r, out)
		must.Do(runfile.Replace(filepath.Join(out, runfile.LogName), func(w *bufio.Writer) error {
			_, err := log.WriteTo(w)
			return err
		}))
		must.Do(runfile.Replace(filepath.Join(out, runfile.TimelineName), func(w *bufio.Writer) (err error) {
			rows := json.NewEncoder(w)
			for i := range r.Timeline {
				err = cmp.Or(err, rows.Encode(&r.Timeline[i]))
			}
			return err
		}))
		must.Do(traces.Join(dirs, out))
		must.Do(render.Save(out, r))
	})
	return out, r, err
}

// instancesIn lists the directories of instances: the given ones, or those inside them. It skips directories without
// a report.
func instancesIn(given []string) (dirs []string) {
	for _, dir := range given {
		dir = must.Get(filepath.Abs(dir))
		own := []string{dir}
		for _, entry := range must.Get(os.ReadDir(dir)) {
			instance := filepath.Join(dir, entry.Name())
			if _, err := os.Stat(filepath.Join(instance, runfile.FileName)); err == nil &&
				ofGenerator.MatchString(entry.Name()) {
				own = append(own, instance)
			}
		}
		if len(own) > 1 {
			own = own[1:]
		}
		for _, one := range own {
			if !slices.Contains(dirs, one) {
				dirs = append(dirs, one)
			}
		}
	}
	return dirs
}

// commonOf returns the directory of the run that holds all instances.
func commonOf(dirs []string) (string, error) {
	for _, dir := range dirs {
		_, err := os.Stat(filepath.Join(dir, runfile.FileName))
		if errors.Is(err, os.ErrNotExist) && !ofGenerator.MatchString(filepath.Base(dir)) {
			return "", fmt.Errorf("%s holds neither a run nor its instances, generator-1 and so on", dir)
		}
		if filepath.Dir(dir) != filepath.Dir(dirs[0]) || !ofGenerator.MatchString(filepath.Base(dir)) {
			return "", errors.New("the parts do not lie in one directory of their run: --out says where the whole goes")
		}
	}
	return filepath.Dir(dirs[0]), nil
}

package merge

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
	"github.com/arrival-bench/arrival/extensions/k6/internal/traces"
)

// ofGenerator is what the directory of one of several instances is called in that of their run.
var ofGenerator = regexp.MustCompile(`^generator-\d+$`)

// Directories makes one run of what lies in directories of instances, or in those of runs that hold theirs, and writes what every run leaves.
//
// out is where to; empty: the directory that all of them are in. It returns the directory.
func Directories(given []string, out string) (directory string, r *report.Run, err error) {
	err = must.Try(func() {
		dirs := instancesIn(given)
		if out == "" {
			out = must.Get(commonOf(dirs))
		}
		var parts []Part
		for _, dir := range dirs {
			parts = append(parts, must.Get(read(dir)))
		}
		var log bytes.Buffer
		r = must.Get(Runs(parts, filepath.Base(must.Get(filepath.Abs(out))), &log))
		must.Do(os.MkdirAll(out, 0o755))
		must.Do(report.Replace(filepath.Join(out, report.LogName), func(w *bufio.Writer) error { _, err := log.WriteTo(w); return err }))
		must.Do(report.Replace(filepath.Join(out, report.TimelineName), func(w *bufio.Writer) (err error) {
			rows := json.NewEncoder(w)
			for i := range r.Timeline {
				err = cmp.Or(err, rows.Encode(&r.Timeline[i]))
			}
			return err
		}))
		must.Do(traces.Join(dirs, out))
		must.Do(report.Save(out, r))
	})
	return out, r, err
}

// instancesIn are the directories of instances: those that are given, or those that are in one that is given. One that has left no report is
// missing.
func instancesIn(given []string) (dirs []string) {
	for _, dir := range given {
		dir = must.Get(filepath.Abs(dir))
		own := []string{dir}
		for _, entry := range must.Get(os.ReadDir(dir)) {
			instance := filepath.Join(dir, entry.Name())
			if _, err := os.Stat(filepath.Join(instance, report.FileName)); err == nil && ofGenerator.MatchString(entry.Name()) {
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

// commonOf is the directory that all lie in as a run's instances do; where they don't, it is not known where the whole belongs.
func commonOf(dirs []string) (string, error) {
	for _, dir := range dirs {
		if filepath.Dir(dir) != filepath.Dir(dirs[0]) || !ofGenerator.MatchString(filepath.Base(dir)) {
			return "", errors.New("the parts do not lie in one directory of their run: --out says where the whole goes")
		}
	}
	return filepath.Dir(dirs[0]), nil
}

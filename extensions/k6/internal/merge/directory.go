package merge

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// ofGenerator is what the directory of one of several instances is called in that of their run.
var ofGenerator = regexp.MustCompile(`^generator-\d+$`)

// Directories makes one run of what lies in directories of instances, or in those of runs that hold theirs, and writes what every run leaves.
//
// out is where to; empty: the directory that all of them are in. template is that of the page; empty: without a page. It returns the directory.
func Directories(given []string, out, template string) (string, *report.Run, error) {
	var dirs []string
	for _, dir := range given {
		own, err := instancesIn(dir)
		if err != nil {
			return "", nil, err
		}
		for _, one := range own {
			if !slices.Contains(dirs, one) {
				dirs = append(dirs, one)
			}
		}
	}
	if out == "" {
		var err error
		if out, err = commonOf(dirs); err != nil {
			return "", nil, err
		}
	}
	parts := make([]Part, len(dirs))
	for i, dir := range dirs {
		var err error
		if parts[i], err = read(dir); err != nil {
			return "", nil, err
		}
	}
	name, err := filepath.Abs(out)
	if err != nil {
		return "", nil, err
	}
	var log bytes.Buffer
	r, err := Runs(parts, filepath.Base(name), &log)
	if err != nil {
		return "", nil, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", nil, err
	}
	for name, write := range map[string]func(w *bufio.Writer) error{
		report.LogName: func(w *bufio.Writer) error { _, err := log.WriteTo(w); return err },
		report.TimelineName: func(w *bufio.Writer) error {
			rows := json.NewEncoder(w)
			for i := range r.Timeline {
				if err := rows.Encode(&r.Timeline[i]); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		if err := report.Replace(filepath.Join(out, name), write); err != nil {
			return "", nil, err
		}
	}
	return out, r, report.Save(out, template, r)
}

// instancesIn are the directories of a run's instances: the one that is given, or those that are in it. One that has left no report is missing.
func instancesIn(dir string) ([]string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, entry := range entries {
		own := filepath.Join(dir, entry.Name())
		if _, err := os.Stat(filepath.Join(own, report.FileName)); err == nil && ofGenerator.MatchString(entry.Name()) {
			found = append(found, own)
		}
	}
	if found == nil {
		return []string{dir}, nil
	}
	return found, nil
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

package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/traces"
)

// runFiles are the files that a run writes. Each of several instances writes them into its own directory,
// partDir.
var runFiles = []string{
	runfile.FileName, runfile.LatestName, runfile.TimelineName, runfile.LogName, runfile.PageName, "junit.xml",
	runfile.MarkdownName, runfile.SummaryName,
	traces.FileName,
}

const partDir = "generator-"

// checkDir refuses a directory that already holds a run, before anything is connected.
func (e *Engine) checkDir() error {
	dir := e.options.Dir
	if dir == "" {
		return nil
	}
	dirs := []string{dir}
	if !e.segment.Alone() {
		dirs = append(dirs, e.partOf(dir))
	}
	for _, one := range dirs {
		entries, err := os.ReadDir(one)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("dir (RUN_DIR): %w", err)
		}
		for _, entry := range entries {
			part := e.segment.Alone() && strings.HasPrefix(entry.Name(), partDir)
			if part || slices.Contains(runFiles, entry.Name()) {
				return holdsRun(one, entry.Name())
			}
		}
	}
	return nil
}

func holdsRun(dir, name string) error {
	return fmt.Errorf("dir (RUN_DIR) is %s, and there is a run in it (%s); allowed: "+
		"a directory that is new or holds no run", dir, name)
}

// partOf is this instance's directory within the run's; for a single instance it is the run's directory itself.
func (e *Engine) partOf(dir string) string {
	if e.segment.Alone() {
		return dir
	}
	return filepath.Join(dir, partDir+strconv.Itoa(e.segment.Number()))
}

// makeDir makes the directory of the run: reports/runs/<method>-<topology>-<network>-<time>, and in it
// generator-<number> where there are several instances. Where the name is taken, it adds -2, -3 and so on, as
// reports/directory.ts does.
func (e *Engine) makeDir() error {
	o := e.options
	dir, began := o.Dir, time.Now()
	if e.met != nil { // all instances share one name, wherever their files are
		began = time.UnixMicro(e.met.StartUS)
	}
	if dir == "" {
		name := fmt.Sprintf("%s-%s-%s-%s", o.Name, o.Topology, o.Network, began.UTC().Format("20060102T150405Z"))
		dir = filepath.Join(o.Runs, name)
	}
	dir = e.partOf(dir)
	err := os.MkdirAll(filepath.Dir(dir), 0o755)
	if err == nil {
		dir, err = e.claim(dir)
	}
	if err != nil {
		return fmt.Errorf("the directory of the run can't be made: %w", err)
	}
	e.life.change(func(p *progress) { p.dir = dir })
	return nil
}

// withdraw removes the files of a run that did not begin.
func (e *Engine) withdraw() error {
	dir := e.life.now().dir
	for _, name := range runFiles {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if e.options.Dir != "" { // it may have existed before
		return nil
	}
	return os.Remove(dir)
}

// claim makes a directory that nobody else uses. A directory that the user gave may exist; an instance's
// directory must have its own name.
func (e *Engine) claim(dir string) (string, error) {
	for own, n := dir, 2; ; own, n = fmt.Sprintf("%s-%d", dir, n), n+1 {
		err := os.Mkdir(own, 0o755)
		switch taken := errors.Is(err, fs.ErrExist); {
		case taken && e.options.Dir != "":
			return own, nil
		case !taken || !e.segment.Alone():
			return own, err
		}
	}
}

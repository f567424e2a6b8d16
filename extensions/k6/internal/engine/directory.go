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
	"sync"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/segment"
	"github.com/arrival-bench/arrival/extensions/k6/internal/traces"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// runFiles are the files that a run writes. Each of several instances writes them into its own directory,
// partDir.
var runFiles = []string{
	runfile.FileName, runfile.LatestName, runfile.TimelineName, runfile.LogName, runfile.PageName, "junit.xml",
	runfile.MarkdownName, runfile.SummaryName,
	traces.FileName,
}

const partDir = "generator-"

// directory is the directory of a run's files.
type directory struct {
	options *Options
	part    segment.Segment
	held    *os.File // while it is open, others take the run for one in progress; nil: not known here

	mu   sync.Mutex
	at   string // empty: the run has none
	made bool   // by this run; false: it existed before
}

// path is the directory; empty: the run has none.
func (d *directory) path() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at
}

func (d *directory) set(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = path
}

// check refuses a directory that already holds a run, before anything is connected.
func (d *directory) check() error {
	dir := d.options.Dir
	if dir == "" {
		return nil
	}
	dirs := []string{dir}
	if !d.part.Alone() {
		dirs = append(dirs, d.partOf(dir))
	}
	for _, one := range dirs {
		entries, err := os.ReadDir(one)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("dir (RUN_DIR): %w", err)
		}
		for _, entry := range entries {
			part := d.part.Alone() && strings.HasPrefix(entry.Name(), partDir)
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
func (d *directory) partOf(dir string) string {
	if d.part.Alone() {
		return dir
	}
	return filepath.Join(dir, partDir+strconv.Itoa(d.part.Number()))
}

// create makes the directory of a run that began at a time: reports/runs/<method>-<topology>-<network>-<time>, and in
// it generator-<number> where there are several instances. Where the name is taken, it adds -2, -3 and so on, as
// reports/directory.ts does.
func (d *directory) create(began time.Time) error {
	o := d.options
	dir := o.Dir
	if dir == "" {
		name := fmt.Sprintf("%s-%s-%s-%s", o.Name, o.Topology, o.Network, began.UTC().Format("20060102T150405Z"))
		dir = filepath.Join(o.Runs, name)
	}
	dir = d.partOf(dir)
	err := os.MkdirAll(filepath.Dir(dir), 0o755)
	if err == nil {
		dir, d.made, err = d.claim(dir)
	}
	if err != nil {
		return fmt.Errorf("the directory of the run can't be made: %w", err)
	}
	d.set(dir)
	return nil
}

// withdraw removes the files of a run that did not begin, and the directory where the run made it.
func (d *directory) withdraw() error {
	dir := d.path()
	for _, name := range runFiles {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if !d.made {
		return nil
	}
	return os.Remove(dir)
}

// claim makes a directory that nobody else uses. A directory that the user gave may exist, and is not made then; an
// instance's directory must have its own name.
func (d *directory) claim(dir string) (_ string, made bool, _ error) {
	for own, n := dir, 2; ; own, n = fmt.Sprintf("%s-%d", dir, n), n+1 {
		err := os.Mkdir(own, 0o755)
		switch taken := errors.Is(err, fs.ErrExist); {
		case taken && d.options.Dir != "":
			return own, false, nil
		case !taken || !d.part.Alone():
			return own, err == nil, err
		}
	}
}

// removePage removes an outdated page after run.json could not be written.
func (d *directory) removePage() { _ = os.Remove(filepath.Join(d.path(), runfile.PageName)) }

// page is the path of the report's page, for the reader.
func (d *directory) page() string {
	return words.ShortPath(filepath.Join(d.path(), runfile.PageName))
}

// name is the name of the run.
func (d *directory) name() string {
	dir := d.path()
	if d.part.Alone() {
		return filepath.Base(dir)
	}
	return filepath.Base(filepath.Dir(dir)) + "-" + filepath.Base(dir)
}

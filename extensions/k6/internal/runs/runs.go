// Package runs reads the runs of a directory. What a killed run had written becomes its report first.
package runs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/arrival-bench/arrival/extensions/k6/internal/facts"
	"github.com/arrival-bench/arrival/extensions/k6/internal/render"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// Recover brings the report in a run's directory up to what the run had written when it was killed. It leaves a run in
// progress alone, and one whose report is complete.
func Recover(dir string) (recovered bool, err error) {
	r, _, release, err := concluded(dir)
	if r == nil || err != nil {
		return false, err
	}
	defer release()
	return true, render.SaveWhole(dir, r, "")
}

// concluded is the report of a killed run, with its JSON; nil: see runfile.Recoverable.
func concluded(dir string) (r *runfile.Run, data []byte, release func(), err error) {
	r, own, release, err := runfile.Recoverable(dir)
	if r == nil || err != nil {
		return nil, nil, nil, err
	}
	r.Facts.Drift = driftOf(dir, r)
	facts.Offer(r)
	facts.Conclude(r, own)
	var made bytes.Buffer
	if err = runfile.WriteJSON(&made, r); err == nil {
		err = runfile.Validate(made.Bytes())
	}
	if err != nil {
		release()
		return nil, nil, nil, fmt.Errorf("%s %w", filepath.Join(dir, runfile.LatestName), err)
	}
	return r, made.Bytes(), release, nil
}

// driftOf is the drift of a killed run, whose report is older than its histogram log; nil: the log can't be read.
func driftOf(dir string, r *runfile.Run) *runfile.Drift {
	log, err := runfile.OpenLog(dir)
	if err != nil {
		return nil
	}
	drift, err := facts.DriftOf(r, log)
	if err != nil {
		return nil
	}
	return drift
}

// Load reads a valid run.json, by its path or that of its directory. That of a killed run is first brought up to what
// the run had written. Errors name the file and the fault.
func Load(path string) ([]byte, error) {
	dir := runfile.DirectoryOf(path)
	if filepath.Base(path) != runfile.FileName && dir != path {
		return runfile.Load(path)
	}
	r, data, release, err := concluded(dir)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return runfile.Load(path)
	}
	defer release()
	switch err := render.SaveWhole(dir, r, ""); {
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS): // it can be read all the same
		return data, nil
	case err != nil:
		return nil, err
	}
	return runfile.Load(path)
}

// Read is Load, decoded.
func Read(path string) (*runfile.Run, error) {
	data, err := Load(path)
	if err != nil {
		return nil, err
	}
	return runfile.Decode(path, data)
}

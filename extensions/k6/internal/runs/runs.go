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
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// Recover brings the report in a run's directory up to what the run had written when it was killed. It leaves a run in
// progress alone, and one whose report is complete.
func Recover(dir string) (recovered bool, err error) {
	r, _, release, err := concluded(dir)
	if r == nil || err != nil {
		return false, err
	}
	defer release()
	return true, report.SaveWhole(dir, r, "")
}

// concluded is the report of a killed run, with its JSON; nil: see report.Recoverable.
func concluded(dir string) (r *report.Run, data []byte, release func(), err error) {
	r, own, release, err := report.Recoverable(dir)
	if r == nil || err != nil {
		return nil, nil, nil, err
	}
	r.Facts.Drift = driftOf(dir, r)
	facts.Offer(r)
	facts.Conclude(r, own)
	var made bytes.Buffer
	if err = report.WriteJSON(&made, r); err == nil {
		err = report.Validate(made.Bytes())
	}
	if err != nil {
		release()
		return nil, nil, nil, fmt.Errorf("%s %w", filepath.Join(dir, report.LatestName), err)
	}
	return r, made.Bytes(), release, nil
}

// driftOf is the drift of a killed run, whose report is older than its histogram log; nil: the log can't be read.
func driftOf(dir string, r *report.Run) *report.Drift {
	log, err := report.OpenLog(dir)
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
	dir := report.DirectoryOf(path)
	if filepath.Base(path) != report.FileName && dir != path {
		return report.Load(path)
	}
	r, data, release, err := concluded(dir)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return report.Load(path)
	}
	defer release()
	switch err := report.SaveWhole(dir, r, ""); {
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS): // it can be read all the same
		return data, nil
	case err != nil:
		return nil, err
	}
	return report.Load(path)
}

// Read is Load, decoded.
func Read(path string) (*report.Run, error) {
	data, err := Load(path)
	if err != nil {
		return nil, err
	}
	return report.Decode(path, data)
}

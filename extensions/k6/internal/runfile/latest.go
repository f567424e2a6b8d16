package runfile

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// LatestName is the file of a run in progress that holds its report without the seconds.
const LatestName = "latest.json"

// latestSchema is the version of latest.json that this package writes.
const latestSchema = "arrival/latest/1"

// silence is how long a run in progress, which writes a line a second, may write none.
const silence = 10 * time.Second

// latest is latest.json. It is written each second, as a whole report of a long run takes long to write. It stands
// until a whole report with the same seconds is complete: after a kill, Recover makes the report of it and
// timeline.ndjson.
type latest struct {
	Schema  string `json:"schema"`
	Seconds int    `json:"seconds"` // lines of timeline.ndjson that the run includes
	Answer  string `json:"answer"`  // the script's answer; empty: none
	Scene   *Scene `json:"scene"`
	Run     *Run   `json:"run"` // its timeline is empty
}

// SaveLatest writes the report of a run in progress, without its seconds. seconds is how many it includes, answer the
// script's own.
func SaveLatest(dir string, r *Run, seconds int, answer string) error {
	rest := *r
	rest.Timeline = nil
	err := Replace(filepath.Join(dir, LatestName), func(w *bufio.Writer) error {
		return json.NewEncoder(w).Encode(latest{latestSchema, seconds, answer, r.Scene, &rest})
	})
	if err != nil {
		return fmt.Errorf("the run's report can't be written: %s: %w", LatestName, err)
	}
	return nil
}

// RemoveLatest is called when the whole report is complete.
func RemoveLatest(dir string) error {
	if err := os.Remove(filepath.Join(dir, LatestName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Recoverable reads what a killed run had written, with the script's own answer; nil: there is nothing newer than its
// report, or it is in progress. Its facts describe its last second. Until release is called nobody else recovers
// it.
func Recoverable(dir string) (r *Run, own string, release func(), err error) {
	path := filepath.Join(dir, LatestName)
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return nil, "", nil, nil
	}
	release, ended := seize(filepath.Join(dir, TimelineName))
	if !ended {
		return nil, "", nil, nil
	}
	if r, own, err = fromLatest(dir, path); r == nil {
		release()
	}
	return r, own, release, err
}

// fromLatest makes the report of a run that has ended of latest.json, where that is newer than run.json; else nil.
func fromLatest(dir, path string) (r *Run, own string, err error) {
	data, err := ReadFile(path)
	if errors.Is(err, os.ErrNotExist) { // somebody else was sooner
		return nil, "", nil
	}
	if err == nil {
		err = checkValues(path, data)
	}
	if err != nil {
		return nil, "", err
	}
	var l latest
	if err := json.Unmarshal(data, &l); err != nil || l.Schema != latestSchema || l.Run == nil {
		return nil, "", fmt.Errorf("%s, the last report of a killed run, cannot be read by this version; "+
			"remove it, and %s counts", path, FileName)
	}
	before := map[int]Interval{}
	if whole, err := Read(filepath.Join(dir, FileName)); err == nil {
		if len(whole.Timeline) > l.Seconds || whole.Run.ID != l.Run.Run.ID {
			return nil, "", nil
		}
		for _, second := range whole.Timeline { // these know messages that arrived after their second was over
			before[second.T] = second
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, "", err
	}
	r = l.Run
	r.Scene = l.Scene
	r.include(dir, l.Seconds, before)
	return r, l.Answer, nil
}

// include adds the first seconds of timeline.ndjson to a run. before are those that are known better.
func (r *Run) include(dir string, most int, before map[int]Interval) {
	seconds, err := ReadTimeline(dir)
	r.Timeline = seconds[:min(len(seconds), most)]
	for i, second := range r.Timeline {
		if known, ok := before[second.T]; ok {
			r.Timeline[i] = known
		}
	}
	if err == nil && len(seconds) < most {
		err = fmt.Errorf("it has %d seconds, and the run wrote %d", len(seconds), most)
	}
	if err == nil {
		return
	}
	reason := "the run's timeline can't be read: " + err.Error()
	r.Verdict.Rules = append(r.Verdict.Rules, Rule{
		Name: "instrument", Part: WholeRun, OK: new(false), Result: Invalid, Reason: reason,
	})
	r.Verdict.Reasons = append(r.Verdict.Reasons, reason)
	if r.Verdict.Result != Incomplete {
		r.Verdict.Result = Invalid
	}
}

package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runs"
)

// inProgress is a run that has written so many seconds and a report of one second.
func inProgress(t *testing.T, seconds int) (e *Engine, rec *recorder, dir string) {
	t.Helper()
	s := newScript(t, &fake.Pipeline{}, "phases: [{duration: 60, arrivalRate: 10}]\nflows: [{name: direct}]", "")
	e = s.engine
	e.dir.at, e.Epoch = s.dir, time.Now().Add(-time.Duration(seconds)*time.Second)
	rec, err := newRecorder(e)
	require.NoError(t, err)
	t.Cleanup(rec.close)
	e.Start()
	for i := range seconds {
		rec.cut()
		if i == 0 {
			require.NoError(t, e.write())
		}
	}
	return e, rec, s.dir
}

// Regression: the report of a killed run was that of its last checkpoint, up to 5 s older than its timeline, and in a
// long run up to 5 minutes.
func TestAKilledRunReportsWhatItHadWritten(t *testing.T) {
	t.Parallel()
	e, rec, dir := inProgress(t, 4)
	require.NoError(t, e.writeLatest(rec.seconds))
	_, err := rec.timeline.WriteString(`{"t":4,"phase":"pha`) // killed while it wrote
	require.NoError(t, err)

	r, err := runs.Read(dir)
	require.NoError(t, err)
	assert.Len(t, r.Timeline, 1, "the run is in progress: its files are its own")

	require.NoError(t, e.dir.held.Close()) // as the kernel does after a kill
	r, err = runs.Read(dir)
	require.NoError(t, err)
	assert.Len(t, r.Timeline, 4)
	assert.GreaterOrEqual(t, r.Account.Scheduled, 40)
	assert.Equal(t, runfile.Incomplete, r.Verdict.Result)
	reason := r.Verdict.Reasons[0]
	assert.Regexp(t, `^the run was cut off at 0:\d\d of 1:00$`, reason)
	assert.NoFileExists(t, filepath.Join(dir, runfile.LatestName))
	for _, name := range []string{runfile.MarkdownName, "junit.xml", runfile.SummaryName, runfile.PageName} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.True(t, strings.Contains(string(text), reason), name)
	}
}

func TestWhatAKilledRunLeavesMayBeDamaged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		damage  func(t *testing.T, rec *recorder, dir string)
		seconds int
		reason  string
		wrong   string
	}{
		"a line of the timeline is none": {
			damage: func(t *testing.T, rec *recorder, _ string) {
				require.NoError(t, rec.timeline.Truncate(0))
				_, err := rec.timeline.WriteString("\n")
				require.NoError(t, err)
			},
			reason: "the run's timeline can't be read: ",
		},
		"the timeline is shorter, as after a power cut": {
			damage: func(t *testing.T, rec *recorder, _ string) {
				text, err := os.ReadFile(rec.timeline.Name())
				require.NoError(t, err)
				require.NoError(t, rec.timeline.Truncate(int64(strings.Index(string(text), "\n"))+10))
			},
			seconds: 1,
			reason:  "it has 1 seconds, and the run wrote 3",
		},
		"a newer version wrote the latest report": {
			damage: func(t *testing.T, _ *recorder, dir string) {
				text := []byte(`{"schema":"arrival/latest/2"}`)
				require.NoError(t, os.WriteFile(filepath.Join(dir, runfile.LatestName), text, 0o600))
			},
			wrong: "latest.json, the last report of a killed run, cannot be read by this version; remove it, and run.json counts",
		},
		"the latest report is older than the report": {
			damage: func(t *testing.T, rec *recorder, dir string) {
				old, err := os.ReadFile(filepath.Join(dir, runfile.LatestName))
				require.NoError(t, err)
				rec.cut()
				require.NoError(t, rec.engine.write())
				require.NoError(t, os.WriteFile(filepath.Join(dir, runfile.LatestName), old, 0o600))
			},
			seconds: 4,
		},
		"the report was being replaced": {
			damage: func(t *testing.T, rec *recorder, dir string) {
				require.NoError(t, os.WriteFile(filepath.Join(dir, runfile.FileName+".next"),
					[]byte(`{"schema":`), 0o600))
				require.NoError(t, os.Remove(filepath.Join(dir, runfile.PageName)))
			},
			seconds: 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, rec, dir := inProgress(t, 3)
			require.NoError(t, e.writeLatest(rec.seconds))
			c.damage(t, rec, dir)
			require.NoError(t, e.dir.held.Close())
			r, err := runs.Read(dir)
			if c.wrong != "" {
				assert.ErrorContains(t, err, c.wrong)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, runfile.Incomplete, r.Verdict.Result)
			assert.FileExists(t, filepath.Join(dir, runfile.PageName))
			assert.Len(t, r.Timeline, c.seconds)
			if c.reason != "" {
				assert.Contains(t, r.Verdict.Reasons[len(r.Verdict.Reasons)-1], c.reason)
			}
		})
	}
}

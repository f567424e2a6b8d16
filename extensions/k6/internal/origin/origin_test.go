package origin

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func noEnv(string) string { return "" }

// variables returns a getenv for a job. It fails the test on a variable that may hold a secret.
func variables(t *testing.T, of map[string]string) func(string) string {
	return func(name string) string {
		assert.NotRegexp(t, "TOKEN|PASSWORD|SECRET|KEY", name)
		return of[name]
	}
}

// repository creates a repository with one commit on the branch trunk. git runs in its folder.
func repository(t *testing.T) (dir, commit string, git func(args ...string) string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir = t.TempDir()
	git = func(args ...string) string {
		t.Helper()
		command := exec.Command("git", args...)
		command.Dir = dir
		command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
		out, err := command.CombinedOutput()
		require.NoError(t, err, string(out))
		return strings.TrimSpace(string(out))
	}
	git("init", "--quiet")
	git("symbolic-ref", "HEAD", "refs/heads/trunk")
	write(t, dir, "script.js", "1")
	git("add", ".")
	git("commit", "--quiet", "-m", "first")
	return dir, git("rev-parse", "HEAD"), git
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}

func TestCommitBranchAndDirty(t *testing.T) {
	t.Parallel()
	dir, commit, git := repository(t)
	of := func() *Git {
		found, ci := Of(dir, noEnv)
		assert.Nil(t, ci)
		return found
	}
	trunk := "trunk"
	assert.Equal(t, &Git{Commit: commit, Branch: &trunk, Dirty: new(false)}, of())

	write(t, dir, "untracked.json", "")
	assert.Equal(t, new(false), of().Dirty, "untracked files are not a change: a run leaves some")

	write(t, dir, "script.js", "2")
	assert.Equal(t, &Git{Commit: commit, Branch: &trunk, Dirty: new(true)}, of())
	git("add", ".")
	assert.Equal(t, new(true), of().Dirty, "staged")
	git("reset", "--quiet", "--hard")

	below := filepath.Join(dir, "below")
	require.NoError(t, os.Mkdir(below, 0o755))
	found, _ := Of(below, noEnv)
	assert.Equal(t, commit, found.Commit, "in a subfolder")

	git("checkout", "--quiet", "--detach")
	assert.Equal(t, &Git{Commit: commit, Dirty: new(false)}, of())
}

// Not parallel: it changes PATH.
func TestNoRepositoryAndNoGitAreNoError(t *testing.T) {
	dir, _, git := repository(t)
	git("checkout", "--quiet", "--orphan", "empty")
	found, _ := Of(dir, noEnv)
	assert.Nil(t, found, "there is no commit yet")

	found, ci := Of(t.TempDir(), noEnv)
	assert.Nil(t, found)
	assert.Nil(t, ci)

	t.Setenv("PATH", t.TempDir())
	found, _ = Of(dir, noEnv)
	assert.Nil(t, found)
}

// Not parallel: it changes PATH.
func TestAHangingGitTimesOut(t *testing.T) {
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\nexec sleep 600\n"), 0o755))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	found, _ := Of(t.TempDir(), noEnv)
	assert.Nil(t, found)
}

func TestTheJobOfEachCI(t *testing.T) {
	t.Parallel()
	const commit = "0123456789012345678901234567890123456789"
	for name, c := range map[string]struct {
		given            map[string]string
		branch, job, url string
	}{
		"GitHub Actions": {map[string]string{
			"GITHUB_ACTIONS": "true", "GITHUB_SHA": commit, "GITHUB_REF_TYPE": "branch", "GITHUB_REF_NAME": "12/merge",
			"GITHUB_HEAD_REF": "topic", "GITHUB_WORKFLOW": "load", "GITHUB_JOB": "ramp", "GITHUB_SERVER_URL": "https://github.com",
			"GITHUB_REPOSITORY": "o/r", "GITHUB_RUN_ID": "7", "GITHUB_RUN_ATTEMPT": "2",
		}, "topic", "load / ramp", "https://github.com/o/r/actions/runs/7/attempts/2"},
		"GitLab CI": {map[string]string{
			"GITLAB_CI": "true", "CI_COMMIT_SHA": commit, "CI_COMMIT_BRANCH": "topic", "CI_JOB_NAME": "ramp",
			"CI_JOB_URL": "https://gitlab.example.com/o/r/-/jobs/7",
		}, "topic", "ramp", "https://gitlab.example.com/o/r/-/jobs/7"},
		"Jenkins": {map[string]string{
			"JENKINS_URL": "http://ci:8080/", "GIT_COMMIT": commit, "GIT_BRANCH": "origin/topic", "JOB_NAME": "load/ramp",
			"BUILD_NUMBER": "7", "BUILD_URL": "http://user:password@ci:8080/job/load/job/ramp/7/?token=t#a",
		}, "topic", "load/ramp #7", "http://ci:8080/job/load/job/ramp/7/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Without a repository, as in an image, the commit comes from the job.
			git, ci := Of(t.TempDir(), variables(t, c.given))
			assert.Equal(t, &Git{Commit: commit, Branch: &c.branch}, git)
			assert.Equal(t, &CI{Name: name, Job: &c.job, URL: &c.url}, ci)
		})
	}
}

func TestACIJobNamesTheBranchOfItsOwnCommitOnly(t *testing.T) {
	t.Parallel()
	dir, commit, git := repository(t)
	git("checkout", "--quiet", "--detach")
	given := map[string]string{"GITLAB_CI": "true", "CI_COMMIT_SHA": commit, "CI_COMMIT_BRANCH": "topic",
		"CI_JOB_URL": "javascript:alert(1)"}
	found, ci := Of(dir, variables(t, given))
	topic := "topic"
	assert.Equal(t, &Git{Commit: commit, Branch: &topic, Dirty: new(false)}, found)
	assert.Equal(t, &CI{Name: "GitLab CI"}, ci, "only http and https links are kept")

	given["CI_COMMIT_SHA"] = strings.Repeat("0", 40)
	found, _ = Of(dir, variables(t, given))
	assert.Equal(t, &Git{Commit: commit, Dirty: new(false)}, found, "the folder is at another commit than the job")
}

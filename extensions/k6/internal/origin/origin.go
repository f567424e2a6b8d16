// Package origin finds out where a run came from: the commit in the working directory, and the CI job.
package origin

import (
	"bufio"
	"bytes"
	"context"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"
)

// patience is how long git may take. A run does not wait longer for it.
const patience = 2 * time.Second

// Git is the commit of a working directory.
type Git struct {
	Commit string  `json:"commit"`
	Branch *string `json:"branch"` // nil: HEAD is detached, and CI does not name it
	Dirty  *bool   `json:"dirty"`  // tracked files differ from the commit; nil: unknown
}

// CI is a job of a CI system.
type CI struct {
	Name string  `json:"name"`
	Job  *string `json:"job"`
	URL  *string `json:"url"` // http or https, without credentials
}

// Of describes the commit in dir and the CI job of the environment; nil: none. It never fails.
func Of(dir string, getenv func(string) string) (*Git, *CI) {
	git := read(dir)
	for _, s := range systems {
		if getenv(s.mark) == "" {
			continue
		}
		// A checkout in a container often belongs to another user, and an image has none: git reads neither.
		if commit := getenv(s.commit); git == nil && commit != "" {
			git = &Git{Commit: commit}
		}
		// CI systems check out a commit, not a branch. A tag is none.
		if git != nil && git.Branch == nil && git.Commit == getenv(s.commit) && getenv("GITHUB_REF_TYPE") != "tag" {
			if branch := first(getenv, s.branch); branch != nil {
				git.Branch = new(strings.TrimPrefix(*branch, "origin/")) // Jenkins' GIT_BRANCH
			}
		}
		return git, &CI{Name: s.name, Job: first(getenv, s.job), URL: link(first(getenv, s.url))}
	}
	return git, nil
}

// read asks git, which may be missing.
func read(dir string) *Git {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	// No file system monitor: a repository can name any program for it. No locks: status only reads.
	status := exec.CommandContext(ctx, "git", "--no-optional-locks", "-c", "core.fsmonitor=false",
		"status", "--porcelain=v2", "--branch", "--untracked-files=no", "--ignore-submodules=dirty")
	status.Dir, status.WaitDelay = dir, patience/4
	status.Env = append(os.Environ(), "GIT_NO_LAZY_FETCH=1") // a partial clone asks its server for nothing
	out, err := status.Output()
	if err != nil {
		return nil
	}
	git := &Git{Dirty: new(false)}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		line := lines.Text()
		if commit, is := strings.CutPrefix(line, "# branch.oid "); is {
			git.Commit = commit
		} else if branch, is := strings.CutPrefix(line, "# branch.head "); is && branch != "(detached)" {
			git.Branch = &branch
		} else if !strings.HasPrefix(line, "#") {
			*git.Dirty = true
		}
	}
	if git.Commit == "" || git.Commit == "(initial)" {
		return nil
	}
	return git
}

// systems are CI systems and the variables that they set. No other variable is read: many are secrets. Of the texts
// for a branch, a job and its page, the first with all variables set counts.
var systems = []struct {
	name, mark, commit string // mark is set in its jobs
	branch, job, url   []string
}{
	{ // https://docs.github.com/en/actions/reference/workflows-and-actions/variables
		"GitHub Actions", "GITHUB_ACTIONS", "GITHUB_SHA",
		[]string{"$GITHUB_HEAD_REF", "$GITHUB_REF_NAME"}, // a pull request has its own branch
		[]string{"$GITHUB_WORKFLOW / $GITHUB_JOB", "$GITHUB_WORKFLOW", "$GITHUB_JOB"},
		[]string{githubRun + "/attempts/$GITHUB_RUN_ATTEMPT", githubRun},
	},
	{ // https://docs.gitlab.com/ci/variables/predefined_variables
		"GitLab CI", "GITLAB_CI", "CI_COMMIT_SHA",
		[]string{"$CI_COMMIT_BRANCH", "$CI_MERGE_REQUEST_SOURCE_BRANCH_NAME"}, []string{"$CI_JOB_NAME"},
		[]string{"$CI_JOB_URL"},
	},
	{ // https://www.jenkins.io/doc/book/pipeline/jenkinsfile/#using-environment-variables
		"Jenkins", "JENKINS_URL", "GIT_COMMIT",
		[]string{"$CHANGE_BRANCH", "$BRANCH_NAME", "$GIT_BRANCH"}, []string{"$JOB_NAME #$BUILD_NUMBER", "$JOB_NAME"},
		[]string{"$BUILD_URL"},
	},
}

const githubRun = "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID"

// first is the first text whose variables are all set; nil: there is none.
func first(getenv func(string) string, texts []string) *string {
	for _, text := range texts {
		complete := true
		text = os.Expand(text, func(name string) string {
			value := getenv(name)
			complete = complete && value != ""
			return value
		})
		if complete {
			return &text
		}
	}
	return nil
}

// link is an address that a page may link to. It leaves out what may be secret.
func link(address *string) *string {
	if address == nil {
		return nil
	}
	u, err := url.Parse(*address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return new(u.String())
}
